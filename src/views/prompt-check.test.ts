import { expect, test } from 'bun:test'
import {
  phaseLines,
  phasesJson,
  promptCheckJson,
  renderPromptCheck,
  type PromptPreview,
} from './prompt-check.ts'

const PROMPT: PromptPreview = {
  setup: [
    {
      kind: 'read',
      path: 'docs/design.md',
      line: 1,
      file: { ok: true, bytes: 12_595, tokens: 3149 },
    },
    {
      kind: 'read',
      path: 'gone.md',
      line: 2,
      file: { ok: false, error: 'File does not exist: gone.md' },
    },
    {
      kind: 'push',
      name: 'prep',
      agent: 'worker',
      model: 'small',
      timeoutMs: 300_000,
      retry: 3,
      isolation: 'worktree',
      on: 'always',
      onParentEnd: 'cancel',
      prompt: '/read a.md\nPrepare.',
      line: 3,
    },
    { kind: 'push', prompt: 'Another task', line: 4 },
    { kind: 'run', count: 1, line: 5 },
    { kind: 'run', parallel: 4, line: 6 },
    { kind: 'run', line: 7 },
  ],
  content: 'Implement the feature.\n\nThen rest.',
  teardown: [{ kind: 'push', name: 'tests', prompt: 'Write tests', line: 12 }],
}

test('the phases are printed in order, with the exact lines', () => {
  expect(renderPromptCheck('prompts/feature.md', PROMPT).join('\n'))
    .toBe(`prompts/feature.md: dry run, nothing was executed.

Setup, before the agent starts:
  line 1  read docs/design.md: 12.3 KiB, about 3.1k tokens
  line 2  read gone.md: error result: File does not exist: gone.md
  line 3  queue prep: "/read a.md\\nPrepare." (agent worker, model small, timeout 5 min, retry 3, isolation worktree, on always, on parent's end cancel)
  line 4  queue a task without a name: "Another task"
  line 5  start the oldest 1 queued task
  line 6  start all queued tasks, 4 at a time
  line 7  start all queued tasks

Content, sent to the agent: 3 lines, 34 bytes, about 9 tokens
  | Implement the feature.
  |
  | Then rest.

Teardown, after the agent has completed:
  line 12  queue tests: "Write tests"`)
})

test('a prompt without commands and one without content say so', () => {
  expect(renderPromptCheck('p', { setup: [], content: 'Do it.\n', teardown: [] }).slice(2)).toEqual(
    [
      'Setup, before the agent starts: nothing',
      '',
      'Content, sent to the agent: 1 line, 7 bytes, about 2 tokens',
      '  | Do it.',
      '',
      'Teardown, after the agent has completed: nothing',
    ],
  )
  const empty = renderPromptCheck('p', { setup: [], content: '', teardown: [] })
  expect(empty).toContain('Content, sent to the agent: nothing, it runs without a prompt')
})

test('long content and long lines are cut', () => {
  const content = `${'x'.repeat(1000)}\n${'line\n'.repeat(999)}`
  const lines = renderPromptCheck('p', { setup: [], content, teardown: [] }).slice(4, -2)
  expect(lines).toEqual([
    'Content, sent to the agent: 1000 lines, 5.9 KiB, about 1.5k tokens',
    `  | ${'x'.repeat(99)}…`,
    ...Array.from({ length: 4 }, () => '  | line'),
    '  … 995 lines more',
  ])
})

test('control sequences are not shown', () => {
  const evil = '\u001b[2J\u009b\r\u0007'
  const lines = renderPromptCheck(evil, {
    setup: [
      { kind: 'read', path: evil, line: 1, file: { ok: false, error: evil } },
      { kind: 'push', agent: evil, model: evil, prompt: evil, line: 2 },
    ],
    content: evil,
    teardown: [],
  })
  // oxlint-disable-next-line no-control-regex
  expect(lines.join('')).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/)
})

test('the JSON has everything but the text of files', () => {
  const file = { ok: true as const, text: 'secret', bytes: 6, tokens: 2 }
  const setup = [{ kind: 'read' as const, path: 'a', line: 8, file }, ...PROMPT.setup.slice(1)]
  const json = JSON.parse(JSON.stringify(promptCheckJson('p.md', { ...PROMPT, setup })))
  expect(json).toEqual({
    prompt: 'p.md',
    setup: [
      { kind: 'read', path: 'a', line: 8, bytes: 6, tokens: 2 },
      { kind: 'read', path: 'gone.md', line: 2, error: 'File does not exist: gone.md' },
      ...PROMPT.setup.slice(2),
    ],
    content: { text: PROMPT.content, bytes: 34, tokens: 9, lines: 3 },
    teardown: PROMPT.teardown,
  })
  const empty = promptCheckJson('p', { setup: [], content: '', teardown: [] })
  expect(empty.content).toEqual({ text: '', bytes: 0, tokens: 0, lines: 0 })
})

test('in a list, a prompt is shown in short or command by command', () => {
  expect(phaseLines(PROMPT, false)).toEqual([
    {
      label: 'before',
      words:
        'read docs/design.md (12.3 KiB); read gone.md (error result); queue prep; queue "Another task"; 3 more',
    },
    { label: 'afterwards', words: 'queue tests' },
  ])
  const lines = phaseLines(PROMPT, true)
  expect(lines.map(({ label }) => label)).toEqual([...Array(7).fill('before'), 'afterwards'])
  expect(lines[0]?.words).toBe('read docs/design.md: 12.3 KiB, about 3.1k tokens')
  expect(phaseLines({ setup: [], content: 'x', teardown: [] }, true)).toEqual([])
  expect(phasesJson({ setup: [], content: 'x', teardown: [] })).toBeUndefined()
})
