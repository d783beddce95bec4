import { test } from 'bun:test'
import { openStage } from './support/stage.ts'
import { openRepository, must, builds } from './support/project-of-tasks.ts'
import { bash, DONE, writes } from './support/writer.ts'

const show = async (name: string, s: any, ...args: string[]) => {
  const { code, stdout, stderr } = await s.run(...args)
  console.log(`##### ${name} ${code}\n${stdout}\n--- ${stderr}\n${s.asks.length} asks; prompt=${JSON.stringify(s.asks[0]?.prompt)?.slice(0, 200)} unused ${s.model.unused}`)
}
const one = { iterations: 1 }
for (const [name, prompt] of [['usage', '/usage'], ['cost','/cost'], ['blank', '  \n '], ['at', 'Read @page.txt now'], ['clear','/clear']] as const) test(name, async () => {
  await using s = await openStage({ script: [DONE], files: { 'page.txt': 'hello' }, ...writes({}, { ...one, prompt }) })
  await show(name, s, '--chain', 'w')
})
test('nul', async () => {
  await using s = await openStage({ script: [DONE], files: { 'p.md': 'a\0b' }, ...writes({}, { ...one, prompt: '', promptFile: 'p.md' }) })
  await show('nul', s, '--chain', 'w')
})
test('nulsys', async () => {
  await using s = await openStage({ script: [DONE], files: { 'p.md': 'a\0b' }, ...writes({ systemPromptText: '', systemPrompt: 'p.md' }, { ...one }) })
  await show('nulsys', s, '--chain', 'w')
})
test('emptysys', async () => {
  await using s = await openStage({ script: [DONE], files: { 'p.md': '' }, ...writes({ systemPromptText: '', systemPrompt: 'p.md' }, { ...one }) })
  await show('emptysys', s, '--chain', 'w')
})
test('long blank', async () => {
  await using s = await openStage({ script: [DONE], files: { 'p.md': ' \n'.repeat(80000) }, ...writes({}, { ...one, prompt: '', promptFile: 'p.md' }) })
  await show('longblank', s, '--chain', 'w')
})
test('long slash', async () => {
  await using s = await openStage({ script: [DONE], files: { 'p.md': '-x /usage ' + 'word '.repeat(40000) }, ...writes({}, { ...one, prompt: '', promptFile: 'p.md' }) })
  await show('longslash', s, '--chain', 'w')
})
test('in progress by a person', async () => {
  await using s = await openRepository({ builder: [[DONE], [DONE]] })
  await must(s, 'forge-tasks create A && forge-tasks edit 1 --status in-progress')
  await show('inprogress', s, 'builder:2')
})
test('claimed by somebody', async () => {
  await using s = await openRepository({ builder: [[DONE], [DONE]] })
  await must(s, 'forge-tasks create A && forge-tasks create B --depends-on 1 && forge-tasks claim 1 --as somebody')
  await show('claimed', s, 'builder:2')
})
test('builder never says marker', async () => {
  await using s = await openRepository({ builder: [[...builds(1), { text: 'done one' }], [{ text: 'nothing ready' }]] })
  await must(s, 'forge-tasks create "Page 1" --ac x')
  await show('nomarker', s, 'builder:2')
})
test('builder no marker but blocked', async () => {
  await using s = await openRepository({ builder: [[{ text: 'nothing ready' }]] })
  await must(s, 'forge-tasks create "Page 1" --ac x && forge-tasks edit 1 --status blocked')
  await show('nomarkerblocked', s, 'builder:1')
})
test('no model arg', async () => {
  await using s = await openStage({ script: [DONE], ...writes({}, one), files: { claude: '#!/bin/sh\nexit 0\n' } })
  await show('silent claude', s, '--chain', 'w')
})
test('max tokens', async () => {
  await using s = await openStage({ script: [{ text: 'Part one\nORCHESTRA_COM', stopReason: 'max_tokens' }, { text: 'PLETE' }], ...writes({}, one) })
  await show('max tokens', s, '--chain', 'w')
})
test('refusal', async () => {
  await using s = await openStage({ script: [{ text: 'No', stopReason: 'refusal' }, { text: 'No', stopReason: 'refusal' }], ...writes({}, one) })
  await show('refusal', s, '--chain', 'w')
})
test('empty', async () => {
  await using s = await openStage({ script: [{ text: '' }, { text: '' }, { text: '' }], ...writes({}, one) })
  await show('empty', s, '--chain', 'w')
})
test('tools x', async () => {
  await using s = await openStage({ script: [{ tools: [bash('echo a'), { name: 'Nope', input: {} }] }, DONE], ...writes({}, one) })
  await show('tools', s, '--chain', 'w')
})
