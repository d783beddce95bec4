import { describe, expect, test } from 'bun:test'
import {
  existsSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { forkhestra, Running } from '../support/forkhestra.ts'
import { makeProject, sh, writeFiles } from '../support/project.ts'
import { runsOf } from '../support/record.ts'

// An agent may cut, replace or remove the file of events under our hands.

const WARNING = 'Warning: another program changed the events.ndjson of this run'

function projectWith(change: string) {
  return makeProject({
    first: sh('echo "first was here"'),
    second: sh(
      'cd "$FORKHESTRA_RECORD"',
      change,
      'cd - >/dev/null',
      'echo "second was here"',
      '[ -e go ]',
    ),
    'forge/x': '',
  })
}

const CHANGES = [
  ['cut', ': >events.ndjson'],
  ['cut in the middle of a line', 'truncate -s 100 events.ndjson'],
  ['removed', 'rm events.ndjson'],
  ['replaced', 'sed -i 1d events.ndjson'],
  ['replaced by a link', 'ln -sf /dev/null events.ndjson'],
  ['moved away', 'mv events.ndjson elsewhere'],
  ['filled', `echo '{"type":"run_ended","ok":true,"exitCode":0,"seq":99}' >>events.ndjson`],
  ['filled without an end of line', 'printf x >>events.ndjson'],
] as const

describe('events that are changed during a run', () => {
  test.each(CHANGES)('%s: the run warns once and ends correctly', async (_, change) => {
    const cwd = projectWith(change)
    const { code, stdout, stderr } = await forkhestra(['first -> second'], { cwd })
    expect(code).toBe(1)
    expect(stderr.split(WARNING)).toHaveLength(2)
    expect(stdout).toContain('Failed at step 2: second (exit 1)')
    const shown = await forkhestra(['show'], { cwd })
    expect(shown.stdout).toContain('failed (exit code 1)')
    expect(shown.stdout).toContain('Step 1: first: complete')
    expect(shown.stdout).toContain('the record is damaged: another program changed events.ndjson')
  })

  test.each(CHANGES)('%s: completed steps are not repeated', async (_, change) => {
    const cwd = projectWith(change)
    await forkhestra(['first -> second'], { cwd })
    writeFiles(cwd, { go: '' })
    const { code, stdout, stderr } = await forkhestra(['resume'], { cwd })
    expect(code).toBe(0)
    expect(stderr).toContain('the record is damaged')
    expect(stdout).toContain('second was here')
    expect(stdout).not.toContain('first was here')
    expect((await forkhestra(['show'], { cwd })).stdout).toContain(': complete')
  })

  test('are noticed while nothing happens, so that a kill loses no step', async () => {
    const cwd = makeProject({
      first: sh('echo "first was here"'),
      second: sh('[ -e go ] && exit 0', ': >"$FORKHESTRA_RECORD/events.ndjson"', 'exec sleep 1000'),
      'forge/x': '',
    })
    const run = new Running(['first -> second', '--json'], { cwd })
    await run.printed('another program changed')
    run.signal('SIGKILL')
    await run.finished
    writeFiles(cwd, { go: '' })
    const { code, stdout } = await forkhestra(['resume', '--kill-orphans'], { cwd })
    expect(code).toBe(0)
    expect(stdout).not.toContain('first was here')
  })
})

test('a cut end of the events is reported after the run', async () => {
  const cwd = makeProject({ first: sh('echo hi'), second: sh('exit 3'), 'forge/x': '' })
  await forkhestra(['first -> second'], { cwd })
  const path = join(cwd, 'forge/orch/runs', runsOf(cwd)[0]!, 'events.ndjson')
  const lines = readFileSync(path, 'utf8').split('\n')
  const from = lines.findIndex((line) => line.includes('"step_ended"'))
  truncateSync(path, Buffer.byteLength(`${lines.slice(0, from).join('\n')}\n`))
  const { stderr } = await forkhestra(['resume'], { cwd })
  expect(stderr).toMatch(/the record is damaged: events \d+ to \d+ are missing/)
})

test('a resume does not write through a link in place of the events', async () => {
  const cwd = makeProject({ agent: sh('exit 3'), 'forge/x': '', mine: 'mine\n' })
  await forkhestra(['agent'], { cwd })
  const record = join(cwd, 'forge/orch/runs', runsOf(cwd)[0]!)
  await Bun.$`mv events.ndjson real`.cwd(record)
  symlinkSync(join(cwd, 'mine'), join(record, 'events.ndjson'))
  writeFileSync(join(cwd, 'mine'), readFileSync(join(record, 'real')))
  const { code } = await forkhestra(['resume', runsOf(cwd)[0]!], { cwd })
  expect(code).toBe(2)
  expect(readFileSync(join(cwd, 'mine'))).toEqual(readFileSync(join(record, 'real')))
})

// The target has files of the same names, which must be neither written nor deleted.
describe('a record that an agent replaces by a link', () => {
  const NAMES = [
    'plan.json',
    'checkpoint.json',
    'events.ndjson',
    'lock',
    'asked-retry-now',
    'signature',
  ]
  test.each([
    ['the record itself', 'mv "$FORKHESTRA_RECORD" moved; ln -s "$V" "$FORKHESTRA_RECORD"'],
    [
      'the folder of all records',
      'mv forge/orch/runs moved; mkdir -p "$V/$FORKHESTRA_RUN_ID"; cp "$V"/* "$V/$FORKHESTRA_RUN_ID" 2>/dev/null; ln -s "$V" forge/orch/runs',
    ],
    [
      'the record itself, and its files are deleted',
      'rm "$FORKHESTRA_RECORD"/lock "$FORKHESTRA_RECORD"/events.ndjson; mv "$FORKHESTRA_RECORD" moved; ln -s "$V" "$FORKHESTRA_RECORD"',
    ],
  ])('is not written through: %s', async (_, change) => {
    const cwd = makeProject({
      first: sh(change, 'touch changed'),
      second: sh('echo "second was here"', 'exit 3'),
      'forge/x': '',
      ...Object.fromEntries(NAMES.map((name) => [`victim/${name}`, 'mine\n'])),
    })
    const victim = join(cwd, 'victim')
    const V = { V: victim }
    const { code, stdout } = await forkhestra(['first -> second:2'], { cwd, env: V })
    expect(existsSync(join(cwd, 'changed'))).toBe(true)
    expect(stdout).toContain('second was here')
    expect(code).toBe(1)
    const all = readdirSync(victim, { recursive: true, withFileTypes: true })
    const files = all.filter((entry) => entry.isFile())
    expect(new Set(files.map(({ name }) => name))).toEqual(new Set(NAMES))
    for (const { parentPath, name } of files) {
      expect(`${name}: ${readFileSync(join(parentPath, name), 'utf8')}`).toBe(`${name}: mine\n`)
    }
  })
})

test('an end that an agent writes does not make a killed run complete', async () => {
  const cwd = makeProject({
    'forge/x': '',
    forger: sh(
      '[ -e tried ] && exit 0',
      'touch tried',
      'cd "$FORKHESTRA_RECORD"',
      `seq=$(tail -n 1 events.ndjson | sed 's/.*"seq":\\([0-9]*\\).*/\\1/')`,
      'at=$(date -u +%FT%T.000Z)',
      `printf '{"type":"run_ended","at":"%s","run":"%s","seq":%s,"worker":"w","ok":true,"exitCode":0,"leftovers":[]}\\n' "$at" "$FORKHESTRA_RUN_ID" $((seq + 1)) >>events.ndjson`,
      'kill -9 $PPID',
    ),
  })
  expect((await forkhestra(['forger'], { cwd })).code).toBe(137)
  const { stdout } = await forkhestra(['runs'], { cwd })
  expect(stdout).toContain(' dead ')
  expect((await forkhestra(['show'], { cwd })).stdout).not.toContain('complete (exit code 0)')
  const resumed = await forkhestra(['resume'], { cwd })
  expect(resumed.stdout).toContain('Done: forger (exit 0)')
  expect(resumed.code).toBe(0)
  expect((await forkhestra(['runs'], { cwd })).stdout).toContain('1/1 steps')
})
