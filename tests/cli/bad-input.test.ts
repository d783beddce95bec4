import { expect, test } from 'bun:test'
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { forkhestra } from '../support/forkhestra.ts'
import { makeProject, sh } from '../support/project.ts'

const ok = sh('exit 0')

/** Refused before anything runs: exit 2, nothing on stdout, one message without a stack. */
async function refusal(args: readonly string[], cwd: string): Promise<string> {
  const { code, stdout, stderr } = await forkhestra(args, { cwd })
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toStartWith('[forkhestra] Error: ')
  expect(stderr).not.toMatch(/^\s+at /m)
  return stderr
}

const configurations: readonly (readonly [string, string | Uint8Array, string])[] = [
  ['empty', '', 'forge/orch/chains.json is empty.'],
  [
    'an array',
    '[]',
    'forge/orch/chains.json:1:1  the file is an empty list, expected an object with "chains"',
  ],
  [
    'null',
    'null',
    'forge/orch/chains.json:1:1  the file is null, expected an object with "chains"',
  ],
  ['binary', new Uint8Array([0, 1, 2, 255, 254]), 'is not UTF-8 text'],
  ['invalid UTF-8', new Uint8Array([0x7b, 0xff, 0x7d]), 'is not UTF-8 text'],
  ['50 MB', ' '.repeat(50_000_000), 'is 47.7 MiB, over the limit of 4 MiB'],
  ['cut off', '{ "chains": { "a": ', 'forge/orch/chains.json:1:20'],
]

test.each(configurations)('a configuration that is refused: %s', async (_, content, message) => {
  const cwd = makeProject({ ok, 'forge/orch/chains.json': content })
  expect(await refusal(['ok'], cwd)).toContain(message)
})

test('a configuration that is a folder, a link loop, a FIFO or missing is refused', async () => {
  const cwd = makeProject({ ok })
  mkdirSync(join(cwd, 'forge/orch/chains.json'), { recursive: true })
  expect(await refusal(['ok'], cwd)).toContain('is a directory, expected a file')
  symlinkSync('loop.json', join(cwd, 'loop.json'))
  expect(await refusal(['ok', '--config', 'loop.json'], cwd)).toContain('symbolic link loop')
  await Bun.$`mkfifo pipe.json`.cwd(cwd)
  expect(await refusal(['ok', '--config', 'pipe.json'], cwd)).toContain('is not a regular file')
  expect(await refusal(['ok', '--config', 'gone.json'], cwd)).toContain(
    'Configuration not found: gone.json',
  )
})

test('prompt files that are not text are refused', async () => {
  const cwd = makeProject({
    ok,
    'bad.md': new Uint8Array([0xff, 0xfe]),
    'nul.md': 'a\0b',
    'huge.md': 'x'.repeat(20 * 1024 * 1024),
  })
  mkdirSync(join(cwd, 'folder.md'))
  const prompt = (file: string) => refusal(['ok', '--prompt-file', file], cwd)
  expect(await prompt('bad.md')).toContain('Prompt file bad.md is not UTF-8 text.')
  expect(await prompt('nul.md')).toContain('has NUL bytes')
  expect(await prompt('huge.md')).toContain('is 20 MiB, over the limit of 16 MiB')
  expect(await prompt('folder.md')).toContain('is a directory, expected a file')
})

const usage: readonly (readonly [readonly string[], string])[] = [
  [['--promt', 'x'], 'Unknown option --promt (did you mean --prompt?)'],
  [['ok', '-x'], 'Unknown option -x'],
  [['ok', '--json=yes'], "Option --json takes no value, got 'yes'."],
  [['ok', '--prompt'], 'Option --prompt needs a value'],
  [[''], 'The chain is empty.'],
  [['  '], 'The chain is empty.'],
  [['ok', '--chain', 'c'], "Unexpected argument 'ok' with --chain c."],
  [['ok', 'more'], "Unexpected argument 'more'."],
  [['ok', '-'], 'Quote the chain'],
  [['A=1'], 'No agent or chain given.'],
  [['ok:0'], "The count '0' is not a whole number from 1 to 100000."],
  [['ok:100001'], "The count '100001' is not a whole number"],
  [['ok:-1'], "The count '-1' is not a whole number"],
  [['ok:1.5'], "The count '1.5' is not a whole number"],
  [['ok:'], "Missing count after the colon in 'ok:'."],
  [[':3'], "Missing agent before ':3'."],
  [['-> ok'], "Missing agent before '->'."],
  [['ok ->'], "Missing agent after '->'."],
  [['ok -> -> ok'], "Missing agent before '->'."],
  [['ok ok'], "Missing '->' before 'ok'."],
  [['(ok'], "This '(' is never closed."],
  [['ok -> ok || ok'], 'cannot be mixed without parentheses'],
  [['@gone'], "There is no chain 'gone' to run as part of this chain."],
  [['ok -> -x'], "An agent's name cannot begin with '-'"],
  [['..'], 'Agent not found: ..'],
  [['/'], 'is a directory, expected a program'],
  [['ok', '--cwd', 'gone'], 'The folder for --cwd does not exist: gone'],
  [['ok', '--cwd', 'ok/x'], 'The folder for --cwd does not exist: ok/x'],
  [['ok', '-p', '--dry-run'], 'Option -p needs a value, and --dry-run is an option.'],
  [['ok', '-p', 'a', '-p', 'b'], 'Option -p is given twice.'],
  [['x'.repeat(300)], 'Agent not found: xxx'],
  [['constructor'], 'Agent not found: constructor'],
  [['ok', '--prompt-file', ''], 'The path for --prompt-file is empty.'],
  [['--chain', ''], 'The name for --chain is empty.'],
  [['ok', 'A=1', 'A=2'], "The variable 'A' is given twice."],
  [['ok → ok'], "Join agents with '->', not with '→'."],
  [['ok', '--cwd', 'ok'], 'The path for --cwd is not a folder: ok'],
  [['ui'], "'ui' is reserved for a later version."],
  [['completions', 'tcsh'], "No completions for 'tcsh'."],
]

test.each(usage)('%j is refused with a clear message', async (args, message) => {
  const cwd = makeProject({ ok })
  expect(await refusal(args, cwd)).toContain(message)
})

test('a caret marks the place of a mistake', async () => {
  const stderr = await refusal(['ok -> ok:x -> ok'], makeProject({ ok }))
  expect(stderr).toContain('    ok -> ok:x -> ok\n             ^\n')
})

test('without arguments, help is printed and the exit code is 2', async () => {
  const { code, stdout } = await forkhestra([], { cwd: makeProject() })
  expect(code).toBe(2)
  expect(stdout).toContain('Examples:')
})

const programs: readonly (readonly [string, string | Uint8Array, number, string])[] = [
  ['is not executable', 'echo hi\n', 0o644, 'is not executable'],
  [
    'asks for a missing interpreter',
    '#!/no/such/sh\n',
    0o755,
    "names the interpreter '/no/such/sh' in its first line",
  ],
  ['has Windows line endings', '#!/bin/sh\r\necho hi\r\n', 0o755, 'has Windows line endings'],
  ['is garbage', new Uint8Array([1, 2, 0, 3, 0, 4]), 0o755, 'is neither a script nor a program'],
]

test.each(programs)('an agent is refused if it %s', async (_, content, mode, message) => {
  const cwd = makeProject()
  writeFileSync(join(cwd, 'agent'), content)
  chmodSync(join(cwd, 'agent'), mode)
  expect(await refusal(['./agent'], cwd)).toContain(message)
})

test('a truncated program fails to start with the right reason', async () => {
  const cwd = makeProject()
  writeFileSync(join(cwd, 'agent'), new Uint8Array([0x7f, 0x45, 0x4c, 0x46, 0, 0, 0, 0]))
  chmodSync(join(cwd, 'agent'), 0o755)
  const { code, stderr } = await forkhestra(['./agent'], { cwd })
  expect(code).toBe(1)
  expect(stderr).toContain('is not an executable for this system')
})

test('if an agent deletes its working directory, the error names the directory', async () => {
  const cwd = makeProject({ agent: sh('rm -rf "$PWD"'), 'sub/x': '' })
  const { code, stderr } = await forkhestra(['agent:3', '--cwd', 'sub'], { cwd })
  expect(code).toBe(1)
  expect(stderr).toContain(
    `[forkhestra] Error: agent: the working directory ${cwd}/sub no longer exists\n`,
  )
})

test('if an agent deletes its own program, the error names the program', async () => {
  const cwd = makeProject({ agent: sh('rm "$0"') })
  const { code, stderr } = await forkhestra(['agent:3'], { cwd })
  expect(code).toBe(1)
  expect(stderr).toContain(`${cwd}/agent no longer exists`)
})

test('a deleted current folder is reported', async () => {
  const cwd = makeProject({
    ok,
    start: sh('mkdir gone; cd gone; rmdir ../gone; exec forkhestra ok'),
  })
  const { stderr } = await forkhestra(['start'], { cwd })
  expect(stderr).toContain('current working directory was deleted')
  expect(stderr).not.toMatch(/^\s+at /m)
})

test('a record that cannot be written is a warning, and the run continues', async () => {
  const cwd = makeProject({ ok, 'forge/orch/runs': 'a file where a folder should be' })
  const { code, stderr } = await forkhestra(['ok'], { cwd })
  expect(code).toBe(0)
  expect(stderr).toContain('[forkhestra] Warning: the run continues without a record: ')
})

test('an entry of PATH that is not a folder is harmless', async () => {
  const cwd = makeProject({ ok })
  const PATH = `/etc/passwd:${cwd}:${process.env['PATH']}`
  expect((await forkhestra(['ok'], { cwd, env: { PATH } })).code).toBe(0)
})

test('a configuration of garbage is refused quickly, with a shortened message', async () => {
  const cwd = makeProject({ ok, 'forge/orch/chains.json': `[${'1 2 '.repeat(200_000)}` })
  const began = performance.now()
  const message = await refusal(['ok'], cwd)
  expect(message.length).toBeLessThan(10_000)
  expect(message).toMatch(/… and \d+ more/)
  expect(performance.now() - began).toBeLessThan(30_000)
})

test('agent names with spaces work in the configuration', async () => {
  const cwd = makeProject({
    'my agent': sh('echo spaced'),
    'forge/orch/chains.json': '{"chains":{"c":{"steps":[{"agent":"./my agent"}]}}}',
  })
  expect((await forkhestra(['--chain', 'c'], { cwd })).stdout).toContain('spaced')
})

test('a chain that starts itself is stopped', async () => {
  const cwd = makeProject({ self: sh('exec forkhestra self') })
  const { code, stderr } = await forkhestra(['self'], { cwd })
  expect(code).toBe(1)
  expect(stderr).toContain('Runs are nested too deeply (16 levels).')
})

test('an argument that is too long for the system is refused before anything runs', async () => {
  const args = ['x'.repeat(140_000)]
  const chains = { c: { steps: [{ agent: 'ok', args }] } }
  const cwd = makeProject({ ok, 'forge/orch/chains.json': JSON.stringify({ chains }) })
  expect(await refusal(['--chain', 'c', '--dry-run'], cwd)).toContain(
    "An argument for 'ok' has 140000 bytes",
  )
})
