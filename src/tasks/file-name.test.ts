import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { renderId } from './id.ts'
import { idOfFileName, makeFileName } from './file-name.ts'

const ID = { prefix: 'TASK', number: 1 }
const RESERVED = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\.|$)/i

describe('makeFileName', () => {
  test.each([
    ['Short title', 'TASK-001 - Short title.md'],
    ['a/b\\c', 'TASK-001 - a b c.md'],
    ['../../etc/passwd', 'TASK-001 - .. .. etc passwd.md'],
    ['"What?" <b>: 1|2 *', 'TASK-001 - What b 1 2.md'],
    ['two\nlines\r\nand\ttabs', 'TASK-001 - two lines and tabs.md'],
    ['  spaces   around  ', 'TASK-001 - spaces around.md'],
    ['ends with dots...', 'TASK-001 - ends with dots.md'],
    ['emoji 👩‍👩‍👧 stays', 'TASK-001 - emoji 👩‍👩‍👧 stays.md'],
    ['   ', 'TASK-001.md'],
    ['...', 'TASK-001.md'],
    ['///', 'TASK-001.md'],
    ['', 'TASK-001.md'],
    ['a\u0000b\u0085c\u2028d', 'TASK-001 - a b c d.md'],
  ])('of %j is %s', (title, expected) => {
    expect(makeFileName(ID, title)).toBe(expected)
  })

  test.each(['CON', 'nul', 'PRN', 'AUX', 'COM1', 'LPT9', 'com1.txt', 'NUL.'])(
    'the title %s makes no reserved name',
    (title) => {
      expect(makeFileName(ID, title)).toStartWith('TASK-001 - ')
      expect(makeFileName(ID, title)).not.toMatch(RESERVED)
    },
  )

  test.each(['CON', 'NUL', 'COM1'])('the prefix %s makes no reserved name', (prefix) => {
    expect(makeFileName({ prefix, number: 1 }, '')).not.toMatch(RESERVED)
  })

  test('5 000 characters are cut between whole characters', () => {
    expect(makeFileName(ID, 'x'.repeat(5000))).toBe(`TASK-001 - ${'x'.repeat(120)}.md`)
    const family = '👩‍👩‍👧'
    const name = makeFileName(ID, family.repeat(1000))
    expect(name).toBe(`TASK-001 - ${family.repeat(Math.floor(120 / Buffer.byteLength(family)))}.md`)
  })

  test('whatever the title, the name is short, safe and has the id', () => {
    const text = fc.string({
      unit: fc.oneof(
        fc.string({ unit: 'binary', maxLength: 1 }),
        fc.constantFrom('/', '.', ' ', ':'),
      ),
      maxLength: 300,
    })
    fc.assert(
      fc.property(text, (title) => {
        const name = makeFileName(ID, title)
        expect(idOfFileName(name)).toBe(renderId(ID))
        expect(Buffer.byteLength(name)).toBeLessThan(200)
        // oxlint-disable-next-line no-control-regex
        expect(name).not.toMatch(/[<>:"/\\|?*\u0000-\u001f]|[ .]\.md$/)
      }),
    )
  })
})

describe('idOfFileName', () => {
  test.each([
    ['TASK-001 - x.md', 'TASK-001'],
    ['task-7.md', 'TASK-007'],
    ['TASK-1000 - a - b.MD', 'TASK-1000'],
    ['TASK-001.txt', undefined],
    ['TASK-001-x.md', undefined],
    ['config.json', undefined],
    ['README.md', undefined],
    ['TASK-12345678901 - x.md', undefined],
  ])('of %s', (name, expected) => {
    expect(idOfFileName(name)).toBe(expected)
  })
})
