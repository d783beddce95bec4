import { expect, test } from 'bun:test'
import { readPhases } from '../prompts/read-phases.ts'
import { findNameClashes } from './name-clashes.ts'

function placesOf(...prompts: string[]): string[] {
  const read = prompts.map((text, index) => {
    const where = `step ${index + 1}`
    return { where, phases: readPhases([text], where) }
  })
  return findNameClashes(read)
    .flat()
    .map((text) => text.split('  ', 1)[0]!)
}

const PUSH = '/push name=x Do it'

test.each([
  [[PUSH], []],
  [[`${PUSH}\nWork`, `${PUSH}\nWork`], ['step 2:1']],
  [[`${PUSH}\n/run\nWork`, `${PUSH}\nWork`], []],
  [[`/push name=y a\n${PUSH}\n/run 1\nWork`, `${PUSH}\n/push name=y a\nWork`], ['step 2:1']],
  [[`${PUSH}\nWork\n${PUSH}`], ['step 1:3']],
  [[`Work\n${PUSH}`, `${PUSH}\nWork`], ['step 2:1']],
  [[`Work\n/push name=x on=failure Do it`, `${PUSH}\nWork`], []],
  [['/push Do it\nWork', '/push Do it\nWork'], []],
])('%j clash at %j', (prompts, places) => {
  expect(placesOf(...prompts)).toEqual(places)
})
