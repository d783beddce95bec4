import { describe, expect, test } from 'bun:test'
import { LIMITS } from '../../bench/matrix/limits.ts'
import { MARKERS } from '../../bench/matrix/markers.ts'
import { WAYS, type Place, type Way } from '../../bench/matrix/own-run.ts'
import { judgeOwnLimit, judgeOwnMarker } from '../../bench/matrix/own.ts'
import { environment, FORKHESTRA } from '../support/forkhestra.ts'
import { makeProject } from '../support/project.ts'

// docs/internals/matrices.md: the same cases that `npm run bench:matrix` tries with other tools.

const place: Place = {
  program: FORKHESTRA,
  makeProject,
  environment: (cwd) => environment({ cwd }),
}

describe.each(Object.keys(WAYS) as Way[])('an agent called as %s', (way) => {
  test('limits and overload are recognised in the output, and mere mentions of them are not', async () => {
    const cells = await Promise.all(LIMITS.map((limit) => judgeOwnLimit(place, way, limit)))
    expect(wrong(LIMITS, cells)).toEqual([])
  })

  test('a step completes only on the marker', async () => {
    const cells = await Promise.all(MARKERS.map((marker) => judgeOwnMarker(place, way, marker)))
    expect(wrong(MARKERS, cells)).toEqual([])
  })
})

type Cells = Awaited<ReturnType<typeof judgeOwnLimit>>[]

function wrong(cases: readonly { id: string }[], cells: Cells): string[] {
  return cells.flatMap(({ verdict, seen }, index) =>
    verdict === 'yes' ? [] : [`${cases[index]!.id}: ${seen}`],
  )
}
