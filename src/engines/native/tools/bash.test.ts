import { expect, test } from 'bun:test'
import { callerIn, makeWorkspace } from '../../../../tests/support/workspace.ts'

const ENDS: readonly (readonly [string, string, true | undefined])[] = [
  ['echo out', 'out\n[exit code 0]', undefined],
  ['echo err >&2', 'err\n[exit code 0]', undefined],
  ['true', '[exit code 0]', undefined],
  ['echo half; exit 3', 'half\n[exit code 3]', true],
  ['no-such-program-here', '[exit code 127]', true],
  ['kill -TERM $$', '[ended by SIGTERM]', true],
  ["printf 'a%s' \"it's\" \\\n  b", "ait'sab\n[exit code 0]", undefined],
  ['cat; read line; echo "stdin: $line"', 'stdin:\n[exit code 0]', undefined],
  ['[[ abc == a* ]] && echo bash', 'bash\n[exit code 0]', undefined],
  ['# only a comment', '[exit code 0]', undefined],
]

test.each(ENDS)(
  '%s is answered with its output and how it ended',
  async (command, text, isError) => {
    const answer = await callerIn(makeWorkspace())('bash', { command })
    expect(answer.text).toEndWith(text)
    expect(answer.isError).toBe(isError)
  },
)

test('a command runs in the project', async () => {
  const workspace = makeWorkspace()
  const { text } = await callerIn(workspace)('bash', { command: 'pwd' })
  expect(text).toBe(`${workspace.cwd}\n[exit code 0]`)
})

test('a command that takes too long is killed with its children, and its output is kept', async () => {
  const call = callerIn(makeWorkspace())
  const answer = await call('bash', { command: 'echo begun; sleep 100 & sleep 100', timeout: 1 })
  expect(answer).toEqual({
    text: 'begun\n[stopped after 1 seconds; timeout can be at most 600]',
    isError: true,
  })
})

test('a command can be stopped', async () => {
  const stop = new AbortController()
  const workspace = makeWorkspace()
  const watched = {
    ...workspace,
    exec: (command: string, options: Parameters<typeof workspace.exec>[1]) =>
      workspace.exec(command, { ...options, take: (bytes) => (options.take(bytes), stop.abort()) }),
  }
  const answer = await callerIn(watched)('bash', { command: 'echo begun; sleep 100' }, stop.signal)
  expect(answer).toEqual({ text: 'begun\n[stopped]', isError: true })
})

test('long output is reduced to its start and end, with the size of the gap', async () => {
  const { text } = await callerIn(makeWorkspace())('bash', { command: 'seq 1 100000' })
  expect(text).toStartWith('1\n2\n3\n')
  expect(text).toMatch(/\n\[… about 543\.8 KiB of 575\.1 KiB left out …\]\n/)
  expect(text).toEndWith('\n99999\n100000\n[exit code 0]')
  expect(text.length).toBeLessThan(33_000)
})

test('a command that cannot start is reported', async () => {
  const exec = async () => ({ kind: 'failed', error: 'no more processes' }) as const
  const call = callerIn({ ...makeWorkspace(), exec })
  expect(await call('bash', { command: 'ls' })).toEqual({
    text: '[could not start: no more processes]',
    isError: true,
  })
})
