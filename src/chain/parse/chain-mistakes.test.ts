import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { UserError } from '../../base/errors.ts'
import { MAX_ITERATIONS, parseChain, type ParsedItem } from './chain-text.ts'

const nobody = () => false
const everybody = () => true

function refusal(text: string, isAgent = nobody): UserError {
  try {
    parseChain(text, isAgent)
  } catch (error) {
    if (error instanceof UserError) return error
    throw error
  }
  throw new Error(`'${text}' was not refused`)
}

const VALID: [string, ParsedItem[]][] = [
  ['a', [{ agent: 'a' }]],
  ['a:3', [{ agent: 'a', iterations: 3 }]],
  ['a:1', [{ agent: 'a', iterations: 1 }]],
  ['a:100000', [{ agent: 'a', iterations: MAX_ITERATIONS }]],
  ['a:007', [{ agent: 'a', iterations: 7 }]],
  [
    'a:3 -> b:10',
    [
      { agent: 'a', iterations: 3 },
      { agent: 'b', iterations: 10 },
    ],
  ],
  ['a->b', [{ agent: 'a' }, { agent: 'b' }]],
  ['a:3->b:2->c', [{ agent: 'a', iterations: 3 }, { agent: 'b', iterations: 2 }, { agent: 'c' }]],
  ['  a  ->\n\tb  ', [{ agent: 'a' }, { agent: 'b' }]],
  ['fk:builder:3', [{ agent: 'fk:builder', iterations: 3 }]],
  ['a:b:c:4', [{ agent: 'a:b:c', iterations: 4 }]],
  ['task-manager -> x_y.z', [{ agent: 'task-manager' }, { agent: 'x_y.z' }]],
  [
    './agents/a.sh:2 -> /bin/true',
    [{ agent: './agents/a.sh', iterations: 2 }, { agent: '/bin/true' }],
  ],
  ['日本語:2', [{ agent: '日本語', iterations: 2 }]],
]

test.each(VALID)('%p is read', (text, steps) => {
  expect(parseChain(text, nobody)).toEqual(steps)
})

test.each(['constructor', '__proto__', 'toString', 'valueOf'])(
  'names of Object.prototype are ordinary names: %s',
  (agent) => {
    expect(parseChain(`${agent} -> b`, nobody)).toEqual([{ agent }, { agent: 'b' }])
  },
)

describe('a colon', () => {
  test('belongs to the name if an agent has that name', () => {
    expect(parseChain('fk:builder -> tasks:coordinator', everybody)).toEqual([
      { agent: 'fk:builder' },
      { agent: 'tasks:coordinator' },
    ])
  })

  test('separates a count even if an agent has that name', () => {
    expect(parseChain('x:3', everybody)).toEqual([{ agent: 'x', iterations: 3 }])
  })

  test('needs a lookup only if no number follows it', () => {
    const asked: string[] = []
    const isAgent = (name: string) => asked.push(name) > 0
    parseChain('a -> b:2 -> c:d:3 -> fk:builder', isAgent)
    expect(asked).toEqual(['fk:builder'])
  })
})

test.each([
  ['a:0', "The count '0' is not a whole number from 1 to 100000.", 'a:0', '  ^'],
  ['a:-1', "The count '-1' is not a whole number from 1 to 100000.", 'a:-1', '  ^^'],
  ['a:1.5', "The count '1.5' is not a whole number from 1 to 100000.", 'a:1.5', '  ^^^'],
  [
    'a:100001',
    "The count '100001' is not a whole number from 1 to 100000.",
    'a:100001',
    '  ^^^^^^',
  ],
  ['a:', "Missing count after the colon in 'a:'.", 'a:', '  ^'],
  ['a:->b', "Missing count after the colon in 'a:'.", 'a:->b', '  ^'],
  [':3', "Missing agent before ':3'.", ':3', '^^'],
  [
    'x:abc',
    "The count 'abc' is not a number, and there is no agent named 'x:abc'.",
    'x:abc',
    '  ^^^',
  ],
  [
    'a:b:c',
    "The count 'c' is not a number, and there is no agent named 'a:b:c'.",
    'a:b:c',
    '    ^',
  ],
  ['-> a', "Missing agent before '->'.", '-> a', '^^'],
  ['a -> -> b', "Missing agent before '->'.", 'a -> -> b', '     ^^'],
  ['a ->', "Missing agent after '->'.", 'a ->', '  ^^'],
  ['->', "Missing agent before '->'.", '->', '^^'],
  ['a b', "Missing '->' before 'b'.", 'a b', '  ^'],
  ['a -> b cc', "Missing '->' before 'cc'.", 'a -> b cc', '       ^^'],
  ['-x:2', "An agent's name cannot begin with '-': '-x'.", '-x:2', '^^'],
])('%p is refused with a caret under the place', (text, problem, line, carets) => {
  expect(refusal(text).message).toBe(`${problem}\n  ${line}\n  ${carets}`)
})

test.each([
  ['after wide characters', '日本 -> 語:0', '日本 -> 語:0', '           ^'],
  ['after an emoji', '👍 -> a:0', '👍 -> a:0', '        ^'],
  ['after a combined character', 'e\u0301:0', 'e\u0301:0', '  ^'],
  ['after tabs, each shown as one space', '\ta\t->\t->', ' a -> ->', '      ^^'],
  ['on its own line of several', 'a:3\n-> b:0\n-> c', '-> b:0', '     ^'],
  ['at the end of the first line', 'a:\n-> b', 'a:', '  ^'],
])('the caret is in the right place %s', (_, text, line, carets) => {
  expect(refusal(text).message.split('\n').slice(1)).toEqual([`  ${line}`, `  ${carets}`])
})

test.each([[''], [' '], ['\n\t ']])('an empty chain %p is refused with an example', (text) => {
  const { message, hint } = refusal(text)
  expect(message).toBe('The chain is empty.')
  expect(hint).toBe('Name at least one agent, for example: forkhestra "planner:3 -> builder:20"')
})

test.each([
  ['a:x', 'Use a:N for at most N iterations (1 to 100000), or a to run it once.'],
  ['a:2 b:3', 'Use: forkhestra "a:2 -> b:3"\nArguments for the agents go after --.'],
  ['a 3', 'Use: forkhestra a:3\nArguments for the agents go after --.'],
  ['a x3', 'Use: forkhestra a:3\nArguments for the agents go after --.'],
  ['3 a', 'Use: forkhestra a:3\nArguments for the agents go after --.'],
  ['a:2 then b', 'Use: forkhestra "a:2 -> b"\nArguments for the agents go after --.'],
  [
    'a:2 Fix the tests',
    'Use: forkhestra a:2 -p "Fix the tests"\nArguments for the agents go after --.',
  ],
  [
    'Fix the "tests"',
    `Use: forkhestra builder:10 -p 'Fix the "tests"'\nArguments for the agents go after --.`,
  ],
])('%p comes with a hint', (text, hint) => {
  expect(refusal(text).hint).toBe(hint)
})

test('any text gives steps or a user error', () => {
  const piece = fc.constantFrom(
    'a',
    ':',
    '3',
    '->',
    '-',
    '>',
    ' ',
    '\n',
    '\t',
    '|',
    '(',
    '日',
    '\0',
  )
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.array(piece).map((pieces) => pieces.join('')),
  )
  fc.assert(
    fc.property(text, fc.boolean(), (dsl, known) => {
      try {
        return parseChain(dsl, () => known).length > 0
      } catch (error) {
        return error instanceof UserError && error.exitCode === 2
      }
    }),
    { numRuns: 2000 },
  )
})

test('the caret is never outside its line', () => {
  const piece = fc.constantFrom('a', ':', '0', '->', ' ', '\n', '\t', '日', '👍', '(')
  fc.assert(
    fc.property(fc.array(piece, { minLength: 1 }), (pieces) => {
      const text = pieces.join('')
      fc.pre(text.trim() !== '')
      let message: string
      try {
        parseChain(text, nobody)
        return true
      } catch (error) {
        message = (error as UserError).message
      }
      const [line = '', carets = ''] = message.split('\n').slice(1)
      return /^ +\^+$/.test(carets) && carets.indexOf('^') <= Bun.stringWidth(line)
    }),
    { numRuns: 2000 },
  )
})

test('a printed chain parses to the same chain', () => {
  const name = fc
    .stringMatching(/^[A-Za-z_./~][\w./~:-]{0,12}$/)
    .filter((text) => !text.includes('->') && !text.endsWith(':') && !/:\d+$/.test(text))
  const iterations = fc.integer({ min: 1, max: MAX_ITERATIONS })
  const step = fc.oneof(fc.record({ agent: name }), fc.record({ agent: name, iterations }))
  const arrow = fc.constantFrom(' -> ', '->', '\n  -> ', '->\t')
  fc.assert(
    fc.property(
      fc.array(step, { minLength: 1 }),
      arrow,
      (steps: { agent: string; iterations?: number }[], between) => {
        // `a-` before an arrow without a space would be read as `a` and `-->`.
        fc.pre(between.startsWith(' ') || steps.every(({ agent }) => !agent.endsWith('-')))
        const text = steps
          .map(({ agent, iterations: n }) => (n ? `${agent}:${n}` : agent))
          .join(between)
        expect(parseChain(text, everybody)).toEqual(steps)
      },
    ),
  )
})

test.each([
  ['planner:3 --> builder:2', '-->'],
  ['planner:3-->builder:2', '-->'],
  ['planner:3 ---> builder:2', '--->'],
  ['planner:3 => builder:2', '=>'],
  ['planner:3 ==> builder:2', '==>'],
  ['planner:3 > builder:2', '>'],
  ['planner:3 >> builder:2', '>>'],
  ['planner:3 ->> builder:2', '->>'],
  ['planner:3 → builder:2', '→'],
  ['planner:3 ⇒ builder:2', '⇒'],
  ['planner:3 && builder:2', '&&'],
  ['planner:3, builder:2', ','],
  ['planner:3,builder:2', ','],
  ['planner:3; builder:2', ';'],
  ['planner:3 , builder:2', ','],
  ['planner:3 + builder:2', '+'],
])('%p is refused with the corrected chain', (text, sign) => {
  const { message, hint } = refusal(text)
  expect(message).toStartWith(`Join agents with '->', not with '${sign}'.\n  ${text}\n`)
  expect(message.split('\n')[2]?.indexOf('^')).toBe(2 + text.indexOf(sign))
  expect(hint).toBe('Use: forkhestra "planner:3 -> builder:2"')
})

test.each([['g++ -> a'], ['a,b -> c'], ['./x-> y'], ['then -> and']])(
  '%p is a chain: such characters may be part of a name',
  (text) => {
    expect(parseChain(text, nobody)).toHaveLength(2)
  },
)
