import { expect, test } from 'bun:test'
import { QUEUE_TOOLS } from '../../engines/tool-names.ts'
import { VERBS } from '../../verbs/verbs.ts'

test('lists of tools know exactly the verbs that there are', () => {
  expect(QUEUE_TOOLS).toEqual(VERBS.map(({ name }) => name))
})
