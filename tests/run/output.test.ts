import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeChain } from '../support/chains.ts'
import { environment, FORKHESTRA, forkhestra, shell } from '../support/forkhestra.ts'
import { makeProject, sh } from '../support/project.ts'

test('both streams of an agent pass unchanged, whatever they contain', async () => {
  const bytes = crypto.getRandomValues(new Uint8Array(60_000))
  const cwd = makeProject({ 'data.bin': bytes, agent: sh('cat data.bin', 'cat data.bin >&2') })
  const { code, stdout } = await shell('forkhestra agent 2> err.bin', cwd)
  expect(code).toBe(0)
  const head = '[forkhestra] Running: agent\n'
  expect(Buffer.from(stdout).subarray(head.length, head.length + bytes.length)).toEqual(
    Buffer.from(bytes),
  )
  expect(readFileSync(join(cwd, 'err.bin'))).toEqual(Buffer.from(bytes))
})

test('the lines of forkhestra start on a new line', async () => {
  const cwd = makeProject({ agent: sh('printf "no newline"') })
  const { stdout } = await forkhestra(['agent'], { cwd })
  expect(stdout).toBe(`[forkhestra] Running: agent
no newline
[forkhestra] Done: agent (exit 0)

[forkhestra] Pipeline complete (1/1 steps)
`)
})

test('the lines of forkhestra start on a new line after stderr too, if both streams share a file', async () => {
  const cwd = makeProject({ agent: sh('printf "no newline" >&2') })
  const { stdout } = await shell('forkhestra agent > out 2>&1; cat out', cwd)
  expect(Buffer.from(stdout).toString()).toContain('no newline\n[forkhestra] Done')
})

test('an agent may open /dev/stdout and /dev/stderr', async () => {
  const cwd = makeProject({ agent: sh('echo one > /dev/stdout', 'echo two > /dev/stderr') })
  const { code, stdout, stderr } = await forkhestra(['agent'], { cwd })
  expect([code, stdout.includes('one\n'), stderr]).toEqual([0, true, 'two\n'])
})

test('ten megabytes without a newline pass, and the marker after them is found', async () => {
  const cwd = makeProject({
    agent: sh('head -c 10000000 /dev/zero | tr "\\\\0" x', 'echo', 'echo ORCHESTRA_COMPLETE'),
  })
  const { code, stdout } = await forkhestra(['agent:2'], { cwd })
  expect(code).toBe(0)
  expect(stdout.length).toBeGreaterThan(10_000_000)
})

test('two megabytes on stderr do not block the agent', async () => {
  const cwd = makeProject({ agent: sh('head -c 2000000 /dev/zero >&2', 'echo done') })
  const { code, stdout, stderr } = await forkhestra(['agent'], { cwd })
  expect([code, stdout.includes('done'), stderr.length]).toEqual([0, true, 2_000_000])
})

test('a slow reader gets everything', async () => {
  const cwd = makeProject({ agent: sh('seq 1 400000') })
  const { stdout } = await shell(
    'forkhestra agent | (sleep 2; cat) | grep -E "^[0-9]+$" | md5sum; seq 1 400000 | md5sum',
    cwd,
  )
  const [got, want] = Buffer.from(stdout).toString().trim().split('\n')
  expect(got).toBe(want as string)
})

test('a run does not leave the output of the shell in non-blocking mode', async () => {
  const cwd = makeProject({ agent: sh('echo hi') })
  const { stdout } = await shell(
    '(forkhestra agent > /dev/stdout; seq 1 200000) | (sleep 1; tail -n 1)',
    cwd,
  )
  expect(Buffer.from(stdout).toString()).toBe('200000\n')
})

test('a closed stdout ends the run like SIGTERM', async () => {
  const cwd = makeProject({
    agent: sh(
      `trap 'echo got TERM > received; exit' TERM`,
      'while :; do echo line; sleep 0.05; done',
    ),
  })
  const { stdout } = await shell(
    'forkhestra agent 2>/dev/null | head -n 2 > /dev/null; echo ${PIPESTATUS[0]}',
    cwd,
  )
  expect(Buffer.from(stdout).toString()).toBe('143\n')
  expect(readFileSync(join(cwd, 'received'), 'utf8')).toBe('got TERM\n')
})

test('a full disk for stdout ends the run with a message and without a stack trace', async () => {
  const cwd = makeProject({ agent: sh('while :; do echo line; sleep 0.05; done') })
  const { stdout, stderr } = await shell('forkhestra agent > /dev/full; echo $?', cwd)
  expect(Buffer.from(stdout).toString()).toBe('143\n')
  expect(stderr).toContain('[forkhestra] Error: stdout: ENOSPC')
  expect(stderr).not.toContain('    at ')
})

test('the last lines arrive even if the reader pauses with a nearly full pipe', async () => {
  const cwd = makeProject({ agent: sh('head -c 65500 /dev/zero | tr "\\0" x') })
  const { stdout } = await shell('forkhestra agent | (sleep 2; tail -n 1)', cwd)
  expect(Buffer.from(stdout).toString()).toBe('[forkhestra] Pipeline complete (1/1 steps)\n')
})

test('a second signal kills at once even if the output is not read', async () => {
  // Whatever waits for the end of this grace fails.
  const cwd = makeChain([{ agent: 'agent', grace: { term: '1h' } }], {
    agent: sh('trap "" INT TERM', 'touch filling', 'yes'),
    start: sh('echo $$ > pid', 'exec forkhestra --chain c'),
  })
  const { stdout } = await shell(
    `(start 2>err; echo $? > code) | (until [ -s code ]; do sleep 0.02; done) &
     until [ -e filling ]; do sleep 0.05; done; sleep 0.5
     kill -INT $(cat pid); until grep -q 'Ctrl-C again' err; do sleep 0.02; done; kill -INT $(cat pid)
     wait; cat code`,
    cwd,
  )
  expect(Buffer.from(stdout).toString()).toBe('130\n')
})

test('Ctrl-C works even if the output is not read', async () => {
  const cwd = makeProject({
    agent: sh('touch filling', 'exec yes'),
    start: sh('echo $$ > pid', 'exec forkhestra agent'),
  })
  const { stdout } = await shell(
    `(start 2>/dev/null; echo $? > code) | (until [ -s code ]; do sleep 0.05; done) &
     until [ -e filling ]; do sleep 0.05; done; sleep 0.5
     kill -INT $(cat pid)
     wait; cat code`,
    cwd,
  )
  expect(Buffer.from(stdout).toString()).toBe('130\n')
})

/** What a person sees on a terminal. */
async function show(args: string[], cwd: string, last: string): Promise<string> {
  let text = ''
  const child = Bun.spawn([FORKHESTRA, ...args], {
    cwd,
    env: environment({ cwd }),
    terminal: {
      cols: 80,
      rows: 24,
      data: (_, bytes) => void (text += Buffer.from(bytes).toString()),
    },
  })
  await child.exited
  while (!text.includes(last)) await Bun.sleep(5)
  return text
}

test('on a terminal very long lines are cut, and with -v they are not', async () => {
  const cwd = makeProject({
    agent: sh('head -c 50000 /dev/zero | tr "\\0" x', 'echo', 'echo short'),
  })
  const cut = await show(['agent'], cwd, 'Pipeline complete')
  expect(cut).toContain('48000 bytes more (-v shows all)')
  expect(cut).toContain('short')
  expect(cut.length).toBeLessThan(3000)
  expect((await show(['agent', '-v'], cwd, 'Pipeline complete')).length).toBeGreaterThan(50_000)
})

test('a line that was cut and never ended does not swallow the next iteration', async () => {
  const cwd = makeProject({
    agent: sh(
      'echo "iteration $FORKHESTRA_ITERATION begins"',
      'head -c 3000 /dev/zero | tr "\\0" x',
    ),
  })
  const text = await show(['agent:2'], cwd, 'Failed at step')
  expect(Bun.stripANSI(text)).toContain(
    '1000 bytes more (-v shows all)\r\n[forkhestra] Iteration 2/2\r\niteration 2 begins\r\n',
  )
})

test('an agent that closes its output early is waited for', async () => {
  const cwd = makeProject({
    agent: sh('echo before', 'exec >&- 2>&-', 'sleep 0.3', 'touch done', 'exit 4'),
  })
  const { code, stdout } = await forkhestra(['agent'], { cwd })
  expect(code).toBe(1)
  expect(stdout).toContain('Done: agent (exit 4)')
  expect(readFileSync(join(cwd, 'done'), 'utf8')).toBe('')
})
