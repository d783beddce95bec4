import { expect, test } from 'bun:test'
import { renderTemplate } from '../parse/template.ts'
import { Variables } from './variables.ts'

const given = (values: Record<string, string>) => new Variables(new Map(Object.entries(values)))

test('given values are filled in', () => {
  const variables = given({ A: 'one=1 two', B: '${A}' })
  expect(renderTemplate(variables.require('${A} ${B}', "'x'"))).toBe('one=1 two ${A}')
  expect(variables.problems).toEqual([])
  expect(variables.warnings()).toEqual([])
})

test('missing variables are reported once with their owner', () => {
  const variables = given({})
  variables.require('${A} ${B} ${A}', "'x'")
  variables.require('${A}', "'x'")
  variables.require('${A}', "chain 'build'")
  expect(variables.problems.map(({ message }) => message)).toEqual([
    "Variable 'A' referenced in 'x' but not provided",
    "Variable 'B' referenced in 'x' but not provided",
    "Variable 'A' referenced in chain 'build' but not provided",
  ])
  expect(variables.problems[1]!.hint).toBe('Add B=value to the command.')
})

test('fill alone requires nothing', () => {
  const variables = given({})
  expect(variables.fill('${A} ${RUN_ID} ${B}').missing).toEqual(['A', 'B'])
  expect(variables.problems).toEqual([])
})

test('built-in variables are never missing and stay open until an iteration', () => {
  const variables = given({})
  const text = '${RUN_ID} ${STEP} ${ITERATION} ${MAX_ITERATIONS} ${COPY} ${COPIES}'
  expect(renderTemplate(variables.require(text, "'x'"))).toBe(text)
  expect(variables.problems).toEqual([])
})

test.each(['RUN_ID', 'STEP', 'ITERATION', 'MAX_ITERATIONS', 'COPY', 'COPIES'])(
  '%s cannot be set',
  (name) => {
    expect(() => given({ [name]: '1' })).toThrow(
      `The variable '${name}' is set by forkhestra itself and cannot be overridden.`,
    )
  },
)

test('an unreferenced variable is a warning, and an escaped hole is not a reference', () => {
  const variables = given({ USED: '1', LONELY: '2', ESCAPED: '3' })
  variables.fill('${USED} $${ESCAPED}')
  expect(variables.warnings()).toEqual([
    "Variable 'LONELY' is set, but nothing references it.",
    "Variable 'ESCAPED' is set, but nothing references it.",
  ])
})

test('an empty value is a value', () => {
  const variables = given({ A: '' })
  expect(renderTemplate(variables.require('<${A}>', "'x'"))).toBe('<>')
  expect(variables.problems).toEqual([])
})

test('with built-in variables only, any other hole is text', () => {
  const variables = new Variables('built-in only')
  const { template, missing } = variables.fill('${A} $${B} ${STEP}')
  expect(template).toEqual(['${A} $${B} ', { variable: 'STEP' }])
  expect(missing).toEqual([])
  expect(renderTemplate(variables.require('${A}', "'x'"))).toBe('${A}')
  expect([variables.problems, variables.warnings()]).toEqual([[], []])
})
