import { expect, test } from 'bun:test'
import { forkhestra } from '../support/forkhestra.ts'
import { sh } from '../support/project.ts'
import { git, makeCommitted } from '../support/repository.ts'

/** A repository with an agent that commits, and the number of its copy in `$copy`. */
function makeRepository(...script: string[]): string {
  const copy = 'copy=${FORKHESTRA_AGENT_NAME#build#}'
  const commit = 'commit() { git add -A; git commit -qm "$1"; }'
  return makeCommitted({
    build: sh(copy, commit, ...script),
    'shared.txt': 'at first\n',
    '.gitignore': '/forge/\n/.state/\n/.config/\n',
  })
}

/** What the end of a run says, without what differs between two runs. */
function summaryOf({ stdout, stderr }: { readonly stdout: string; readonly stderr: string }) {
  const end = stdout.slice(stdout.lastIndexOf('\n\n') + 2)
  const warnings = stderr.split('\n').filter((line) => /^\[forkhestra\] (?!Warning)/.test(line))
  const all = [...end.split('\n'), ...warnings].join('\n')
  return all.replaceAll(/\b[0-9a-f]{7}\b/g, 'COMMIT').replaceAll(/\d{8}-\d{6}-\w{6}/g, 'RUN')
}

test('what was merged is named with its commits', async () => {
  const cwd = makeRepository(
    'echo $copy > part-$copy; commit one; echo more >> part-$copy; commit two',
    'echo ORCHESTRA_COMPLETE',
  )
  const ran = await forkhestra(['./build:3*3', '--verify', 'true'], { cwd })
  expect(ran.code).toBe(0)
  expect(
    ran.stdout.match(/^build#\d │ \[forkhestra\] Merged into main \(2 commits, \w{7}\)$/gm),
  ).toHaveLength(3)
  expect(summaryOf(ran)).toBe(`  1. ./build: complete (3 copies, 3 iterations)
[forkhestra] Chain complete (1/1 steps)
[forkhestra] Merged into main: 6 commits of 3 branches, now at COMMIT
`)
  expect(ran.stdout).toContain(`now at ${git(cwd, 'rev-parse', '--short=7', 'main')}\n`)
})

test('the summary says how to merge what is in conflict', async () => {
  const cwd = makeRepository(
    'echo $copy > shared.txt; commit "$copy"',
    '[ $copy = 1 ] || until git log --format=%s main | grep -qx 1; do sleep 0.05; done',
    'echo ORCHESTRA_COMPLETE',
  )
  const ran = await forkhestra(['./build:1*2', '--verify', 'true'], { cwd })
  expect(ran.code).toBe(1)
  const summary = summaryOf(ran).replaceAll(/\.\.\/\S*worktrees\S*/g, 'PATH')
  expect(summary).toContain(
    '1 of 2 copies complete (2 iterations); #2: conflicts with main in 1 file: shared.txt',
  )
  expect(summary).toContain('[forkhestra] Merged into main: 1 commit of 1 branch, now at COMMIT\n')
  expect(summary).toContain(
    '[forkhestra] Not merged: build#2 (conflict in shared.txt); its worktree is PATH\n',
  )
  const [, merge = ''] = /To merge build#2 by hand: git (.*)/.exec(ran.stderr) ?? []
  expect(merge).toMatch(/^merge forkhestra\/\S+$/)
  expect(ran.stderr).toContain('Resume to let the agent try again, or merge the branch yourself')
  const shown = await forkhestra(['show'], { cwd })
  expect(shown.stdout).toContain(`git ${merge} `)
  expect(() => git(cwd, ...merge.split(' '), '--no-edit')).toThrow()
  expect(git(cwd, 'diff', '--name-only', '--diff-filter=U')).toBe('shared.txt')
})

test('if a person edits the same file, the summary says how to bring the work to the branch', async () => {
  const cwd = makeRepository(
    'project=$(git worktree list --porcelain | sed -n "1s/worktree //p")',
    'echo mine > "$project/shared.txt"',
    '[ $copy = 1 ] && echo 1 > shared.txt',
    'echo $copy > part-$copy; commit "$copy"',
    'echo ORCHESTRA_COMPLETE',
  )
  const ran = await forkhestra(['./build:1*2', '--verify', 'true'], { cwd })
  const summary = summaryOf(ran)
  expect(summary).toContain('[forkhestra] Merged: 2 commits of 2 branches, now at COMMIT\n')
  expect(summary).toMatch(
    /^\[forkhestra\] Merged work is on forkhestra\/RUN\/merged, not yet on main: Your local changes .*: shared\.txt/m,
  )
  const [, command = ''] = /To bring it to main: git (.*)/.exec(ran.stderr) ?? []
  expect((await forkhestra(['show'], { cwd })).stdout).toContain(`git ${command} `)
  git(cwd, 'checkout', '--', 'shared.txt')
  git(cwd, ...command.split(' '))
  expect(git(cwd, 'show', 'main:shared.txt')).toBe('1')
})

test('work that fails the checks is not offered for a merge, and uncommitted work is named', async () => {
  const cwd = makeRepository(
    '[ $copy = 1 ] && { echo 1 > part-1; commit 1; } || { echo 2 > part-2; exit 3; }',
    'exit 0',
  )
  const ran = await forkhestra(['./build*2', '--verify', 'test ! -e part-1'], { cwd })
  const summary = summaryOf(ran).replaceAll(/\.\.\/\S*worktrees\S*/g, 'PATH')
  expect(summary).toContain('[forkhestra] Worktree of build#2 kept (uncommitted changes): PATH\n')
  expect(summary).toContain(
    '[forkhestra] To see what is in the worktree of build#2: git -C PATH status\n',
  )
  expect(summary).toMatch(
    /^\[forkhestra\] To see the commits of build#1: git log main\.\.forkhestra\/RUN\/s1\.c1$/m,
  )
  expect(summary).not.toContain('by hand')
})

test('warnings name a branch as its lines do', async () => {
  const cwd = makeRepository(
    'git checkout -q -b "other-$copy"; echo "$copy" > "part-$copy"; commit one',
    'echo ORCHESTRA_COMPLETE',
  )
  const { code, stderr } = await forkhestra(['./build:1*2', '--verify', 'true'], { cwd })
  expect(code).toBe(0)
  expect(stderr).toContain('Warning: build#1: the agent worked on branch other-1;')
})
