import { expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeProject } from '../../../tests/support/project.ts'
import { UserError } from '../../base/errors.ts'
import {
  composeSystemPrompt,
  isDirectSpawnAgent,
  loadAgentSystemPrompt,
  MODE_AWARENESS_PREFIX,
} from './system-prompt.ts'

test('the prefix comes before the system prompt', () => {
  expect(composeSystemPrompt('You plan.')).toBe(`${MODE_AWARENESS_PREFIX}You plan.`)
})

test.each([
  ['that nobody answers', /nobody answers/i],
  ['not to be interactive', /interactive/],
  ['to decide and act', /decide and act/i],
  ['that the context is fresh', /empty context/],
  ['that state lives in files and git', /files.*git/s],
  ['to commit with a message', /commit .*message/],
  ['the word that ends the assignment', /ORCHESTRA_COMPLETE/],
  ['to end without it if more remains', /more remains: end without/],
])('the prefix tells the agent %s', (_, words) => {
  expect(MODE_AWARENESS_PREFIX).toMatch(words)
})

test.each([
  [{}, false],
  [{ defaultPrompt: 'x', model: 'opus' }, false],
  [{ systemPrompt: '', systemPromptText: '' }, false],
  [{ systemPrompt: 'x.md' }, true],
  [{ systemPromptText: 'You plan.' }, true],
])('%j defines a direct-spawn agent: %p', (config, isDirect) => {
  expect(isDirectSpawnAgent(config)).toBe(isDirect)
})

test('the text of the system prompt wins over the file, which is not even read', () => {
  const config = { systemPromptText: 'the text', systemPrompt: 'missing.md' }
  expect(loadAgentSystemPrompt(config, makeProject())).toBe('the text')
  expect(loadAgentSystemPrompt({}, makeProject())).toBe('')
})

test('the file of the system prompt is read again at every call', () => {
  const cwd = makeProject({ 'prompts/a.md': 'first\n' })
  const config = { systemPrompt: 'prompts/a.md' }
  expect(loadAgentSystemPrompt(config, cwd)).toBe('first\n')
  writeFileSync(join(cwd, 'prompts/a.md'), 'second\n')
  expect(loadAgentSystemPrompt(config, cwd)).toBe('second\n')
})

test('a file that cannot be read is named', () => {
  const cwd = makeProject({ 'folder/x': '', 'bad.md': Uint8Array.of(0xff) })
  const load = (systemPrompt: string) => () => loadAgentSystemPrompt({ systemPrompt }, cwd)
  expect(load('gone.md')).toThrow(new UserError("System prompt 'gone.md' does not exist."))
  expect(load('folder')).toThrow("System prompt 'folder' is a directory, expected a file.")
  expect(load('bad.md')).toThrow("System prompt 'bad.md' is not UTF-8 text.")
})

test('the prefix for a task explains the result, but not loops, commits and the marker', () => {
  const prompt = composeSystemPrompt('You test.', 'task')
  expect(prompt).toEndWith('---\n\nYou test.')
  for (const words of [
    /nobody\s+answers/i,
    /empty context/,
    /your last\s+message is your result/i,
    /ORCHESTRA_BLOCKED/,
  ])
    expect(prompt).toMatch(words)
  for (const words of [/started again/, /commit/, /ORCHESTRA_COMPLETE/])
    expect(prompt).not.toMatch(words)
})
