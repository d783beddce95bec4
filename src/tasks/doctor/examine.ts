import { change } from '../store/change.ts'
import type { Places } from '../store/places.ts'
import { scanTasks } from '../store/scan.ts'
import { brokenFiles } from './broken-files.ts'
import { circles } from './circles.ts'
import { dangling } from './dangling.ts'
import type { Ailment, Finding } from './finding.ts'
import { misnamed } from './misnamed.ts'
import { twins } from './twins.ts'
import { unfinished } from './unfinished.ts'

const AILMENTS: readonly Ailment[] = [brokenFiles, twins, misnamed, dangling, circles, unfinished]

/** Everything that is wrong with the database; with `fix`, what can be mended is. */
export function examine(places: Places, fix: boolean): Finding[] {
  // One after the other: what is mended first is seen by those that follow.
  const mended = fix
    ? AILMENTS.flatMap(({ mend }) =>
        change(places, (draft) => mend(places, scanTasks(places), draft)),
      )
    : []
  const scan = scanTasks(places)
  return [...mended, ...AILMENTS.flatMap(({ find }) => find(places, scan))]
}
