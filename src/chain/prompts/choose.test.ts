import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { isBlank } from '../parse/prompt/parse-command.ts'
import { parseTemplate } from '../parse/template.ts'
import { choosePrompt, type PromptCandidate, type PromptLevel } from './choose.ts'

const LEVELS: PromptLevel[] = ['command line', 'step', 'chain', 'agent default']
const NONE = new Map<string, string>()

const text = (level: PromptLevel, source: string): PromptCandidate => ({
  level,
  text: parseTemplate(source),
})
const file = (level: PromptLevel, path: string): PromptCandidate => ({
  level,
  file: parseTemplate(path),
  base: '/base',
})

/** A folder as a function. */
const holding = (files: Record<string, string>) => (path: string, base: string) =>
  files[`${base}/${path}`] ?? ''

const nothing = holding({})

test('without candidates there is no prompt', () => {
  expect(choosePrompt([], NONE, nothing)).toBeUndefined()
})

test.each([[''], [' '], ['\n\t\r\n'], ['\u00A0']])('%j counts as absent', (blank) => {
  const candidates = [text('command line', blank), file('step', 'blank'), text('chain', 'used')]
  const readPrompt = holding({ '/base/blank': blank })
  expect(isBlank(blank)).toBe(true)
  expect(choosePrompt(candidates, NONE, readPrompt)).toMatchObject({
    text: 'used',
    source: { level: 'chain' },
  })
  expect(choosePrompt(candidates.slice(0, 2), NONE, readPrompt)).toBeUndefined()
})

test('a file is named as the source, and its text is unchanged', () => {
  const readPrompt = holding({ '/base/p/2.md': ' ${STEP}\n' })
  expect(
    choosePrompt([file('step', 'p/${STEP}.md')], new Map([['STEP', '2']]), readPrompt),
  ).toMatchObject({ text: ' ${STEP}\n', source: { level: 'step', file: 'p/2.md' } })
})

test('a blank file counts as soon as it has content', () => {
  const files: Record<string, string> = { '/base/p.md': '' }
  const candidates = [file('step', 'p.md'), text('chain', 'fallback')]
  expect(choosePrompt(candidates, NONE, holding(files))?.text).toBe('fallback')
  files['/base/p.md'] = 'written meanwhile'
  expect(choosePrompt(candidates, NONE, holding(files))?.text).toBe('written meanwhile')
})

test('files after the chosen one are not read', () => {
  const read: string[] = []
  choosePrompt([file('step', 'a'), file('chain', 'b')], NONE, (path) => {
    read.push(path)
    return 'text'
  })
  expect(read).toEqual(['a'])
})

test('inline texts are filled, or shown as written on request', () => {
  const candidates = [text('step', 'Iteration ${ITERATION} of ${MAX}')]
  const values = new Map([['ITERATION', '3']])
  expect(choosePrompt(candidates, values, nothing)?.text).toBe('Iteration 3 of ${MAX}')
  expect(choosePrompt(candidates, values, nothing, { asWritten: true })?.text).toBe(
    'Iteration ${ITERATION} of ${MAX}',
  )
})

test('a text that is blank after filling counts as absent', () => {
  const candidates = [text('step', ' ${A} '), text('chain', 'used')]
  expect(choosePrompt(candidates, new Map([['A', '']]), nothing)?.text).toBe('used')
})

test('the first candidate that is not blank always wins', () => {
  const candidate = fc.record({
    level: fc.constantFrom(...LEVELS),
    isFile: fc.boolean(),
    content: fc.constantFrom('', ' \n', 'a', 'b'),
  })
  fc.assert(
    fc.property(fc.array(candidate), (all) => {
      const files = Object.fromEntries(all.map(({ content }, i) => [`/base/${i}`, content]))
      const candidates = all.map(({ level, isFile, content }, i) =>
        isFile ? file(level, String(i)) : text(level, content),
      )
      const winner = all.find(({ content }) => content.trim() !== '')
      expect(choosePrompt(candidates, NONE, holding(files))?.text).toBe(winner?.content)
    }),
  )
})
