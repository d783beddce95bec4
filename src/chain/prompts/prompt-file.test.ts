import { expect, test } from 'bun:test'
import { truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeProject } from '../../../tests/support/project.ts'
import { UserError } from '../../base/errors.ts'
import { readPromptText } from './prompt-file.ts'

function refusal(path: string, cwd: string): UserError {
  try {
    readPromptText(path, cwd)
  } catch (error) {
    if (error instanceof UserError) return error
    throw error
  }
  throw new Error(`${path} was not refused`)
}

test('a prompt file is passed on unchanged', () => {
  const text = '  # Plan\r\n\r\n${NOT_FILLED} $${NOR_THIS} é 日本 👍\n\n'
  const cwd = makeProject({ 'prompts/plan.md': text, empty: '' })
  expect(readPromptText('prompts/plan.md', cwd)).toBe(text)
  expect(readPromptText(join(cwd, 'prompts/plan.md'), '/')).toBe(text)
  expect(readPromptText('empty', cwd)).toBe('')
})

test('a prompt file is read again every time', () => {
  const cwd = makeProject({ 'p.md': 'first' })
  expect(readPromptText('p.md', cwd)).toBe('first')
  writeFileSync(join(cwd, 'p.md'), 'second, longer')
  expect(readPromptText('p.md', cwd)).toBe('second, longer')
})

test('a missing prompt file is reported with its folder and a hint', () => {
  const cwd = makeProject()
  const { message, hint } = refusal('prompts/missing.md', cwd)
  expect(message).toBe('Prompt file not found: prompts/missing.md')
  expect(hint).toBe(
    `forkhestra looked in ${cwd}. If an earlier step writes it, create it empty first.`,
  )
})

test('a file that is not text is refused', () => {
  const cwd = makeProject({
    'latin1.md': Uint8Array.of(0x63, 0xe9),
    'nul.md': 'a\0b',
    'folder/file': '',
    huge: '',
  })
  truncateSync(join(cwd, 'huge'), 16 * 1024 ** 2 + 1024 ** 2)
  expect(refusal('latin1.md', cwd).message).toBe('Prompt file latin1.md is not UTF-8 text.')
  expect(refusal('nul.md', cwd).message).toBe('Prompt file nul.md is not text: it has NUL bytes.')
  expect(refusal('folder', cwd).message).toBe('Prompt file folder is a directory, expected a file.')
  expect(refusal('huge', cwd).message).toBe('Prompt file huge is 17 MiB, over the limit of 16 MiB.')
})
