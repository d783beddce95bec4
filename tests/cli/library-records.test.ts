import { expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { sh } from '../support/project.ts'
import { makeScriptProject, runScript } from '../support/script.ts'

const CONFIG = { 'forge/orch/chains.json': '{ "chains": {} }' }
const PRINT = 'const print = (value) => console.log(JSON.stringify(value))'

test('a result has the run id and, if recorded, the folder of the record', async () => {
  const cwd = makeScriptProject({ ...CONFIG, agent: sh('echo hi') })
  const [none, kept, single] = (await runScript(
    cwd,
    `import { executeChain, parseDSL, run } from 'forkhestra'
     ${PRINT}
     const steps = parseDSL('./agent')
     print(await executeChain({ steps }))
     print(await executeChain({ steps, record: true }))
     print(await run({ agent: './agent', record: true }))`,
  )) as { run: string; record?: string }[]
  expect(none).toMatchObject({ success: true, run: expect.stringMatching(/^\d{8}-/) })
  expect(none).not.toHaveProperty('record')
  expect(kept!.record).toBe(`${cwd}/forge/orch/runs/${kept!.run}`)
  expect(existsSync(`${kept!.record}/events.ndjson`)).toBe(true)
  expect(single).toMatchObject({
    complete: true,
    record: expect.stringContaining(single!.run),
  })
})

test('resume continues a recorded run, and does nothing if it is complete', async () => {
  const cwd = makeScriptProject({
    ...CONFIG,
    once: sh('echo once >> log'),
    agent: sh('echo again >> log', 'test -e ready || exit 1', 'echo ORCHESTRA_COMPLETE'),
  })
  const printed = await runScript(
    cwd,
    `import { executeChain, parseDSL, resume } from 'forkhestra'
     ${PRINT}
     const first = await executeChain({ steps: parseDSL('./once -> ./agent:1'), record: true })
     await Bun.write('ready', '')
     const types = []
     const second = await resume({ run: first.run, stall: 0, onEvent: ({ type }) => types.push(type) })
     print([first.success, first.failedAt, second.success, second.run === first.run, second.record === first.record])
     print(types[0])
     print(second.steps.map(({ result }) => result.reason))
     print(await resume({ run: first.run }).then(({ success, run }) => [success, run === first.run]))
     print(await resume({ run: 'none' }).catch((error) => error.message))
     print(await resume({ run: first.run, maxCost: -1 }).catch((error) => error.message))
     print((await Bun.file('log').text()).split('\\n'))`,
  )
  expect(printed).toEqual([
    [false, 1, true, true, true],
    'run_resumed',
    ['single_run', 'marker'],
    [true, true],
    "No run matches 'none'.",
    'chain.maxCostUsd: expected an amount in US dollars greater than 0.',
    ['once', 'again', 'again', ''],
  ])
})

test('a recorded run locks the working tree, except against anyway and unrecorded runs', async () => {
  const cwd = makeScriptProject({
    ...CONFIG,
    agent: sh('test -e go || tail -f /dev/null'),
    other: sh('true'),
  })
  const printed = await runScript(
    cwd,
    `import { run } from 'forkhestra'
     ${PRINT}
     const stop = new AbortController()
     const started = Promise.withResolvers()
     const first = run({ agent: './agent', record: true, signal: stop.signal, onEvent: ({ type }) => type === 'iteration_started' && started.resolve() })
     await started.promise
     print(await run({ agent: './other', record: true }).catch((error) => error.message.replace(/Run \\S+/, 'Run X')))
     print((await run({ agent: './other', record: true, anyway: true })).complete)
     print((await run({ agent: './other' })).complete)
     stop.abort()
     print((await first).reason)
     print((await run({ agent: './other', record: true })).complete)`,
  )
  expect(printed).toEqual([
    'Run X is still active in this working tree.',
    true,
    true,
    'interrupted',
    true,
  ])
})

test('a callback that throws leaves a record that can be resumed in the same program', async () => {
  const cwd = makeScriptProject({
    ...CONFIG,
    agent: sh('echo hi', 'test -e ready || exec tail -f /dev/null'),
  })
  const printed = await runScript(
    cwd,
    `import { listRuns, resume, run } from 'forkhestra'
     ${PRINT}
     const onOutput = () => { throw new Error('disk full') }
     print(await run({ agent: './agent', record: true, onOutput }).catch((error) => error.message))
     print((await listRuns()).runs.map(({ status }) => status))
     await Bun.write('ready', '')
     print((await resume()).success)`,
  )
  expect(printed).toEqual(['disk full', ['dead'], true])
})

test('listRuns, readRun and readEvents return what runs, show and the journal contain', async () => {
  const cwd = makeScriptProject({ ...CONFIG, agent: sh('echo hi') })
  const printed = await runScript(
    cwd,
    `import { listRuns, readEvents, readRun, run } from 'forkhestra'
     ${PRINT}
     const { run: id } = await run({ agent: './agent', record: true })
     const command = (...args) => JSON.parse(Bun.spawnSync([process.env.FORKHESTRA, ...args, '--json']).stdout)
     const without = (value) => JSON.parse(JSON.stringify(value, (key, each) => key === 'ms' ? 0 : each))
     print(Bun.deepEquals(without(await listRuns()), without(command('runs'))))
     print(Bun.deepEquals(without(await readRun(id)), without(command('show', id))))
     print(Bun.deepEquals(await listRuns({ cwd: process.cwd() }), await listRuns()))
     const types = []
     for await (const { type } of readEvents(id)) types.push(type)
     print(types)
     print(await readRun('none').catch((error) => error.message))`.replace(
      'process.env.FORKHESTRA',
      JSON.stringify(`${import.meta.dir}/../../bin/forkhestra`),
    ),
  )
  expect(printed).toEqual([
    true,
    true,
    true,
    [
      'run_started',
      'step_started',
      'iteration_started',
      'output',
      'iteration_ended',
      'step_ended',
      'run_ended',
    ],
    "No run matches 'none'.",
  ])
})

test('an agent of a recorded run can queue tasks, and they are run', async () => {
  const cwd = makeScriptProject({
    ...CONFIG,
    agent: sh('forkhestra push --agent ./work "one" && forkhestra run-queue && forkhestra receive'),
    work: sh('echo "done: $1"'),
  })
  const printed = await runScript(
    cwd,
    `import { run } from 'forkhestra'
     ${PRINT}
     let said = ''
     const onOutput = ({ bytes, task }) => { if (task === undefined) said += Buffer.from(bytes).toString() }
     const { complete } = await run({ agent: './agent', record: true, onOutput })
     print([complete, said.includes('done: one')])`,
  )
  expect(printed).toEqual([[true, true]])
})

test('a program can push to a queue, run it and read the results', async () => {
  const cwd = makeScriptProject({ ...CONFIG, work: sh('test "$1" != bad && echo "done: $1"') })
  const printed = await runScript(
    cwd,
    `import { openQueue } from 'forkhestra'
     ${PRINT}
     const queue = openQueue()
     print([await queue.inbox(), (await queue.list()).tasks, await queue.check()])
     print(await queue.push('one', { name: 'first', agent: './work', timeout: '1m' }))
     await queue.push('two', { name: 'second', agent: './work' })
     await queue.push('three', { name: 'third', agent: './work' })
     print((await queue.list()).tasks.map(({ name, state }) => name + ' ' + state))
     print(await queue.cancel('third'))
     const types = new Set()
     print(await queue.run({ parallel: 2, onEvent: ({ type }) => types.add(type) }))
     print([types.has('task_started'), types.has('task_ended')])
     print((await queue.inbox()).length)
     print((await queue.receive({ from: ['first', 'second'] })).messages.map(({ from, output }) => [from, output]))
     print((await queue.check()).map(({ from, class: kind }) => [from, kind]))
     await queue.push('bad', { name: 'bad', agent: './work' })
     print((await queue.run()).success)
     print(await queue.send('nobody', 'hello').catch((error) => error.constructor.name))
     print(await queue.push('x', { agent: 'no-such-agent' }).catch((error) => error.message.split('\\n')[0]))
     print(await queue.run())
     print(await queue.run({ count: 0 }).catch((error) => error.constructor.name))
     print((await queue.receive({ from: ['bad'], timeout: 1 })).status)
     print((await queue.receive({ timeout: '1s' })).status)
     await queue.close()`,
  )
  expect(printed).toEqual([
    [[], [], []],
    'first',
    ['first queued', 'second queued', 'third queued'],
    { ended: ['third'], told: [] },
    { success: true, started: ['first', 'second'], held: 0, unfinished: [] },
    [true, true],
    3,
    [
      ['first', 'done: one'],
      ['second', 'done: two'],
    ],
    [['third', 'cancelled']],
    false,
    'QueueError',
    'Agent not found: no-such-agent',
    { success: true, started: [], held: 0, unfinished: [] },
    'UserError',
    'received',
    'nothing_to_wait_for',
  ])
})

test('a program can receive while its queue is running', async () => {
  const cwd = makeScriptProject({ ...CONFIG, work: sh('echo "done: $1"') })
  const printed = await runScript(
    cwd,
    `import { openQueue } from 'forkhestra'
     ${PRINT}
     const queue = openQueue({ cwd: process.cwd() })
     await queue.push('one', { name: 'one', agent: './work' })
     const started = Promise.withResolvers()
     const running = queue.run({ onEvent: ({ type }) => type === 'task_started' && started.resolve() })
     await started.promise
     const { status, messages } = await queue.receive({ from: ['one'] })
     print([status, messages[0].output, (await running).success])`,
  )
  expect(printed).toEqual([['received', 'done: one', true]])
})

test('resume continues the queued tasks that a closed queue had started', async () => {
  const cwd = makeScriptProject({
    ...CONFIG,
    work: sh('test -e ready || { echo started; exec tail -f /dev/null; }', 'echo done'),
  })
  const printed = await runScript(
    cwd,
    `import { openQueue, resume } from 'forkhestra'
     ${PRINT}
     const queue = openQueue()
     await queue.push('one', { name: 'one', agent: './work', retry: 1 })
     const started = Promise.withResolvers()
     const running = queue.run({ onOutput: () => started.resolve() })
     await started.promise
     await queue.close()
     print((await running).success)
     await Bun.write('ready', '')
     print((await resume()).success)
     print((await openQueue().check()).map(({ success }) => success))`,
  )
  expect(printed).toEqual([false, true, [true]])
})
