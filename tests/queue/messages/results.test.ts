import { expect, test } from 'bun:test'
import { makeQueueProject, runPrompt } from '../../support/queue.ts'
import { endsIn } from '../../support/queue-records.ts'
import { runsOf } from '../../support/record.ts'

/** The result of a task that is a script. */
async function resultOf(script: string): Promise<{ output: string; run: string }> {
  const cwd = makeQueueProject(`/push name=long '${script}'\n/run\ntrue\n`)
  await runPrompt(cwd)
  const [task] = endsIn(cwd)
  return { output: task?.end?.output ?? '', run: runsOf(cwd)[0]! }
}

test('a result of 200 000 characters is delivered whole', async () => {
  const { output } = await resultOf('echo first; seq -w 1 28560; echo last')
  expect(output.length).toBeGreaterThan(170_000)
  expect(output).toStartWith('first\n00001\n')
  expect(output).toEndWith('\nlast')
})

test('a longer result says that its beginning was cut, and where the whole is', async () => {
  const { output, run } = await resultOf('echo first; seq -w 1 99999; echo last')
  const [note, ...lines] = output.split('\n')
  expect(note).toBe(`… (beginning omitted; full text: forkhestra logs ${run} --task long)`)
  expect(output.length).toBeWithin(190_000, 200_001)
  expect(lines[0]).toMatch(/^\d{5}$/)
  expect(lines.at(-1)).toBe('last')
})

test('a long line or word is kept up to the same length', async () => {
  const word = 'head -c 300000 /dev/zero | tr "\\0" x'
  const { output } = await resultOf(`${word}; echo; echo last`)
  expect(output).toStartWith('… (beginning omitted')
  expect(output).toEndWith('xxx\nlast')
  expect(output.length).toBeWithin(180_000, 200_001)
  const alone = await resultOf(word)
  expect(alone.output).toEndWith('xxx')
  expect(alone.output.length).toBeWithin(180_000, 200_001)
})
