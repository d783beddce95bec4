import { expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { ofType } from '../support/record.ts'
import { commits, must, openRepository, tasks } from './support/project-of-tasks.ts'
import { bash } from './support/writer.ts'

const MORE = { text: 'This task is done.' }

/** Takes a task and carries it out. Two of them conflict, and two fail the check together. */
const BUILD =
  bash(`brief=$(forge-tasks next --claim --plain) || { echo "nothing is ready"; exit 0; }
set -e
id=$(printf '%s\\n' "$brief" | sed -n 's/^id: //p' | head -1)
case "$id" in
TASK-005|TASK-006) echo "$id" >>shared.txt ;;
TASK-007|TASK-008) touch "half-$id" ;;
esac
echo "$id" >"page-$id.txt"
forge-tasks edit "$id" --check-ac 1
forge-tasks edit "$id" --status done --append-notes "The page is there"
git add -A
git commit -q -m "$id: Add a page"`)

const RESOLVE = bash(`git merge -q main
set -e
grep -v '^[<=>]' shared.txt >both
mv both shared.txt
git add -A
git commit -q -m "Merge main"`)

const REPAIR = bash('git mv half-TASK-* whole.txt && git commit -q -m "Rename a half"')

const GATE = '[ "$(ls half-* 2>/dev/null | wc -l)" -lt 2 ]'

const times = (count: number, tool: ReturnType<typeof bash>) =>
  Array.from({ length: count }, () => [{ tool }, MORE])

/** The task on which each of the others waits. */
const WAITS_FOR = [0, 1, 1, 1, 2, 2, 3, 3, 5, 6, 7, 8]

test('four builders build twelve tasks in worktrees, and all of their work is merged', async () => {
  await using stage = await openRepository({
    builder: times(40, BUILD),
    told: [
      { prompt: 'cannot be merged', sessions: times(9, RESOLVE) },
      { prompt: 'this check failed', sessions: times(9, REPAIR) },
    ],
  })
  const creating = WAITS_FOR.map((on, at) => {
    const waits = on === 0 ? '' : ` --depends-on ${on}`
    return `forge-tasks create "Page ${at + 1}" --ac "The page exists"${waits}`
  })
  await must(stage, ['set -e', ...creating].join('\n'))
  const result = await stage.runJson('--chain', 'build', '--copies', '4', '--verify', GATE)
  expect([result.code, result.stderr]).toEqual([0, ''])
  expect(await tasks(stage)).toHaveLength(12)
  for (const task of await tasks(stage)) expect(task).toContain('| Done |')
  const built = (await commits(stage)).filter((subject) => subject.startsWith('TASK-'))
  expect(new Set(built).size).toBe(12)
  expect(built).toHaveLength(12)
  // The checks pass at every commit to which the branch was moved, and git knows of no other moves.
  const moves = ofType(result.events, 'merge_moving')
  const reflog = (await must(stage, 'git reflog --format=%H main')).split('\n')
  const begun = reflog.findIndex((commit) => !moves.some(({ to }) => to === commit))
  expect(reflog.slice(0, begun).toReversed()).toEqual(moves.map(({ to }) => to))
  for (const { into, to } of moves) {
    expect(into).toBe('main')
    await must(stage, `git checkout -q ${to} && ${GATE}`)
  }
  const refused = ofType(result.events, 'merge_ended').map(({ result: how }) => how)
  expect(refused).toContain('conflict')
  expect(refused).toContain('gate_failed')
  await must(stage, 'git checkout -q main')
  expect(await must(stage, 'git worktree list --porcelain | grep -c "^worktree "')).toBe('1')
  expect(await must(stage, "git for-each-ref --format='%(refname:short)' refs/heads")).toBe('main')
  expect(await must(stage, 'git status --porcelain')).toBe('')
  expect(existsSync(`${stage.cwd}.worktrees`)).toBe(false)
}, 300_000)
