import { expect, test } from 'bun:test'
import { make, refusal } from '../../../tests/support/plan.ts'
import type { ItemConfig } from '../parse/chains-schema.ts'

const agent = (prompt: string): ItemConfig => ({ agent: 'a', prompt })
const push = (name: string) => `Begin.\n/push ${name} "Do it"`
const asked = (steps: readonly ItemConfig[]) => ({ chain: { steps: [...steps] } })

test.each<[string, ItemConfig[], string]>([
  ['copies', [{ ...agent(push('name=x')), copies: 2 }], 'the prompt of step 1:2'],
  [
    'copies of a group',
    [{ sequence: [agent('a'), agent(push('name=x'))], copies: 2 }],
    'the prompt of step 2:2',
  ],
  [
    'items of a parallel group',
    [{ parallel: [agent(push('name=x')), { sequence: [agent(push('name=x'))] }] }],
    'the prompt of step 1:2',
  ],
  [
    'nested copies with the number of the inner one only',
    [{ parallel: [{ ...agent(push('name=x${COPY}')), copies: 2 }, agent('b')], copies: 2 }],
    'the prompt of step 1:2',
  ],
])('%s cannot push tasks with the same name', (_, steps, place) => {
  const { message } = refusal(asked(steps))
  expect(message).toContain(`${place}  Several agents would push a task named 'x`)
})

test.each<[string, ItemConfig[]]>([
  ['without a name', [{ ...agent(push('')), copies: 2 }]],
  ['with the number of the copy', [{ ...agent(push('name=x-${COPY}')), copies: 3 }]],
  ['with the number of the group', [{ sequence: [agent(push('name=x${COPY}'))], copies: 2 }]],
  ['one after another', [agent(push('name=x')), { ...agent('Do it'), copies: 2 }]],
  ['in one branch', [{ sequence: [agent(push('name=x${COPY}')), agent('b')], copies: 2 }]],
])('%s they can', (_, steps) => {
  expect(() => make(asked(steps))).not.toThrow()
})
