import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { fillTemplate, parseHoles, parseTemplate, renderTemplate, variablesOf } from './template.ts'

const fill = (text: string, values: Record<string, string>) =>
  renderTemplate(fillTemplate(parseTemplate(text), new Map(Object.entries(values))))

test.each([
  ['nothing to fill', 'nothing to fill'],
  ['', ''],
  ['${A}', 'one'],
  ['${A}${B}', 'onetwo'],
  ['a ${A} b ${B} c ${A}', 'a one b two c one'],
  ['${_x9}', 'under'],
  ['${UNKNOWN} ${A}', '${UNKNOWN} one'],
  ['$A $(A) {A} $', '$A $(A) {A} $'],
  ['$${A}', '${A}'],
  ['$${A} ${A}', '${A} one'],
  ['$$${A}', '$${A}'],
  ['$${9A}', '$${9A}'],
  ['${9A} ${A-B} ${A.b} ${} ${ A } ${A', '${9A} ${A-B} ${A.b} ${} ${ A } ${A'],
  ['${a}', '${a}'],
  ['${ ${A} }', '${ one }'],
  ['${Ä}', '${Ä}'],
  ['line\n${A}\nline', 'line\none\nline'],
])('%p becomes %p', (text, filled) => {
  expect(fill(text, { A: 'one', B: 'two', _x9: 'under' })).toBe(filled)
})

test.each([['${B}'], ['$${A}'], ['$&'], ['$1 $$ $`'], ['a=b c\nd'], ['']])(
  'the value %p is inserted unchanged and not searched for holes',
  (value) => {
    expect(fill('<${A}>', { A: value, B: 'two' })).toBe(`<${value}>`)
  },
)

test('variables are listed in order with repetitions, without escaped ones', () => {
  expect(variablesOf(parseTemplate('${B} $${C} ${A} ${B} ${1}'))).toEqual(['B', 'A', 'B'])
})

test('names of Object.prototype are ordinary variables', () => {
  expect(fill('${constructor} ${__proto__}', {})).toBe('${constructor} ${__proto__}')
})

test.each([
  ['${A}', [{ variable: 'A' }]],
  ['a ${A} b ${B}${A}', ['a ', { variable: 'A' }, ' b ', { variable: 'B' }, { variable: 'A' }]],
  ['$${A}', ['$', { variable: 'A' }]],
  ['${C} ${AB} ${A', ['${C} ${AB} ${A']],
  ['$A {A} ${ A }', ['$A {A} ${ A }']],
  ['', []],
])('with only A and B as holes, %j is parsed as %j', (text, parts) => {
  expect(parseHoles(text, ['A', 'B'])).toEqual(parts)
})

test('with only some names as holes no text is lost', () => {
  const part = fc.constantFrom('${A}', '${B}', '$${A}', '$', '{A}', '\n', 'text')
  fc.assert(
    fc.property(fc.array(part), (parts) => {
      const text = parts.join('')
      expect(renderTemplate(parseHoles(text, ['A']))).toBe(text)
    }),
  )
})

test('a text without holes stays unchanged', () => {
  const text = fc.string({ unit: 'binary' }).filter((each) => !each.includes('${'))
  fc.assert(fc.property(text, (each) => renderTemplate(parseTemplate(each)) === each))
})

test('a text with all holes escaped renders without the escapes', () => {
  const part = fc.constantFrom('${A}', '${b_1}', '${9}', ' ', 'text', '{', '}', '\n')
  fc.assert(
    fc.property(fc.array(part), (parts) => {
      const meant = parts.join('')
      const written = meant.replaceAll(/\$\{[A-Za-z_]/g, String.raw`$$$&`)
      expect(fill(written, { A: 'filled', b_1: 'filled' })).toBe(meant)
    }),
  )
})

test('filling in two steps is the same as filling at once', () => {
  const part = fc.constantFrom('${A}', '${B}', '$${A}', '$', '{B}', 'text ')
  const values = fc.record({ A: fc.string(), B: fc.string() })
  fc.assert(
    fc.property(fc.array(part), values, (parts, { A, B }) => {
      const template = parseTemplate(parts.join(''))
      const both = new Map([
        ['A', A],
        ['B', B],
      ])
      const first = fillTemplate(template, new Map([['A', A]]))
      expect(fillTemplate(first, new Map([['B', B]]))).toEqual(fillTemplate(template, both))
    }),
  )
})
