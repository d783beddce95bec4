import { expect, test } from 'bun:test'
import { make, type Asked } from '../../../tests/support/plan.ts'

const step = (fields: object): Asked => ({ chain: { steps: [{ agent: 'a', ...fields }] } })
const missing = (field: string) => `${field}: there is no program named 'gone' on PATH`

test.each<[string, Asked, string[]]>([
  ['verify', step({ verify: ['ls', ' gone -q && ls'] }), [missing('verify')]],
  ['until', step({ until: 'gone' }), [missing('until')]],
  ['when', step({ when: 'gone' }), [missing('when')]],
  ['--verify', { overrides: { verify: ['gone x'] } }, [missing('verify')]],
  [
    'two steps with the same command',
    { chain: { verify: 'gone', steps: [{ agent: 'a' }, { agent: 'b' }] } },
    [missing('verify')],
  ],
  ['a program that an agent may write', step({ verify: './gone' }), []],
  ['a word of the shell', step({ verify: ['test -e x', '[ -e x ]', '! ls', 'cd x && ls'] }), []],
  ['a variable before the program', step({ verify: 'CI=1 gone' }), []],
  ['a quoted program', step({ verify: '"$TOOL" test' }), []],
  ['a PATH of its own', step({ verify: 'gone', env: { PATH: '/opt' } }), []],
])('a missing program in %s', (_, asked, warnings) => {
  expect(make(asked).warnings).toEqual(warnings)
})
