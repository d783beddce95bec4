import { describe, expect, test } from 'bun:test'
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gitIn, Repository } from '../../../tests/support/merge-repository.ts'
import { makeProject, writeFiles } from '../../../tests/support/project.ts'
import { integrate, type MergeMethod } from './integrate.ts'
import { completeMove, moveBranch } from './move-branch.ts'

function request(onto: string, tip: string, method: MergeMethod = 'rebase') {
  return { onto, tip, method, branch: 'one' }
}

describe('the work of a branch is put onto another commit', () => {
  test('as it is, if nothing else was merged', async () => {
    const repository = await Repository.make()
    const onto = await repository.tip()
    const tip = await repository.branch('one', { 'a.txt': 'one\n' })
    const tree = await repository.integrationTree()
    expect(await integrate(tree, request(onto, tip))).toEqual({
      kind: 'ready',
      commit: tip,
      commits: 2,
      copies: [],
    })
    expect(readFileSync(join(tree.path, 'a.txt'), 'utf8')).toBe('one\n')
  })

  test('as copies that keep author, message and empty commits', async () => {
    const repository = await Repository.make()
    const tip = await repository.branch('one', { 'a.txt': 'one\n' })
    const onto = await repository.commit('same change', { 'a.txt': 'one\n', 'b.txt': 'other\n' })
    const tree = await repository.integrationTree()
    const done = await integrate(tree, request(onto, tip))
    if (done.kind !== 'ready') throw new Error('conflict')
    expect(done.copies.map(([original]) => original)).toEqual(
      (await repository.git('rev-list', '--reverse', 'main..one')).trim().split('\n'),
    )
    expect(done.copies.at(-1)).toEqual([tip, done.commit])
    expect(await tree.git('log', '--format=%an %s', `${onto}..HEAD`)).toBe('ann one 2\nann one 1\n')
    expect(readFileSync(join(tree.path, 'b.txt'), 'utf8')).toBe('other\n')
  })

  test('only what is new, if an earlier tip was copied before', async () => {
    const repository = await Repository.make()
    const first = await repository.branch('one', { 'a.txt': 'one\n' })
    const onto = await repository.commit('copied', { 'a.txt': 'one\n', 'one.txt': 'changed since' })
    await repository.git('checkout', '--quiet', '-b', 'more', 'one')
    const tip = await repository.commit('one 3', { 'c.txt': 'c' })
    const done = await integrate(await repository.integrationTree(), {
      ...request(onto, tip),
      merged: first,
    })
    if (done.kind !== 'ready') throw new Error('conflict')
    expect(done.copies.map(([original]) => original)).toEqual([tip])
  })

  test.each(['with', 'without'])(
    'without commits that a person has removed from the target meanwhile, %s own commits',
    async (own) => {
      const repository = await Repository.make()
      const start = await repository.tip()
      const given = await repository.commit('removed', { 'secret.txt': 's' })
      const tip = own === 'with' ? await repository.branch('one', { 'c.txt': 'c' }) : given
      await repository.git('reset', '--quiet', '--hard', start)
      const onto = await repository.commit('person', { 'd.txt': 'd' })
      const tree = await repository.integrationTree()
      const done = await integrate(tree, { ...request(onto, tip), given })
      expect(done).toMatchObject({ kind: 'ready', commits: own === 'with' ? 2 : 0 })
      expect(existsSync(join(tree.path, 'secret.txt'))).toBe(false)
    },
  )

  test('with a merge commit, if that is wanted', async () => {
    const repository = await Repository.make()
    const tip = await repository.branch('one', { 'a.txt': 'one\n' })
    const onto = await repository.tip()
    const tree = await repository.integrationTree()
    const done = await integrate(tree, request(onto, tip, 'merge'))
    expect(await tree.git('log', '-1', '--format=%P|%s')).toBe(
      `${onto} ${tip}|Merge branch 'one'\n`,
    )
    expect(done).toMatchObject({ kind: 'ready', copies: [] })
  })

  test('with a merge commit, if the branch has one itself', async () => {
    const repository = await Repository.make()
    await repository.branch('one', { 'a.txt': 'one\n' })
    await repository.commit('other', { 'b.txt': 'other\n' })
    await repository.git('checkout', '--quiet', '-b', 'both', 'one')
    await repository.git('merge', '--quiet', '--no-ff', '-m', 'both', 'main')
    const tip = await repository.tip('both')
    await repository.git('checkout', '--quiet', 'main')
    const onto = await repository.commit('third', { 'c.txt': 'c' })
    const tree = await repository.integrationTree()
    const done = await integrate(tree, request(onto, tip))
    if (done.kind !== 'ready') throw new Error('conflict')
    expect(await tree.git('rev-list', '-n1', tip, `^${done.commit}`)).toBe('')
  })

  test.each(['rebase', 'merge'] as const)(
    '%s names the files and commits of a conflict',
    async (method) => {
      const repository = await Repository.make()
      const tip = await repository.branch('one', { 'a.txt': 'one\n' })
      await repository.commit('unrelated', { 'b.txt': 'other\n' })
      const onto = await repository.commit('theirs', { 'a.txt': 'theirs\n' })
      const tree = await repository.integrationTree()
      const done = await integrate(tree, request(onto, tip, method))
      expect(done).toEqual({
        kind: 'conflict',
        files: ['a.txt'],
        others: [`${onto.slice(0, 7)} ann: theirs`],
      })
      // The tree is usable again afterwards.
      const next = await repository.branch('two', { 'c.txt': 'c' })
      expect(await integrate(tree, request(onto, next))).toMatchObject({
        kind: 'ready',
        commit: next,
      })
      expect(await tree.git('status', '--porcelain')).toBe('')
    },
  )

  test('not at all, if it is there already', async () => {
    const repository = await Repository.make()
    const tip = await repository.branch('one', {})
    await repository.git('merge', '--quiet', 'one')
    const onto = await repository.commit('later')
    const tree = await repository.integrationTree()
    expect(await integrate(tree, request(onto, tip))).toEqual({
      kind: 'ready',
      commit: onto,
      commits: 0,
      copies: [],
    })
  })
})

describe('a branch is moved', () => {
  async function candidate() {
    const repository = await Repository.make()
    const from = await repository.tip()
    const to = await repository.branch('one', { 'a.txt': 'one\n' })
    return { repository, move: { branch: 'main', from, to } }
  }

  test('together with its files where it is checked out', async () => {
    const { repository, move } = await candidate()
    expect(await moveBranch(repository.top, move, gitIn)).toEqual({ kind: 'moved' })
    expect(readFileSync(join(repository.top, 'a.txt'), 'utf8')).toBe('one\n')
    expect(await repository.git('status', '--porcelain')).toBe('')
  })

  test('by name where it is not checked out', async () => {
    const { repository, move } = await candidate()
    await repository.git('checkout', '--quiet', '--detach')
    expect(await moveBranch(repository.top, move, gitIn)).toEqual({ kind: 'moved' })
    expect(await repository.tip()).toBe(move.to)
  })

  test.each([
    ['moved', (repository: Repository) => repository.commit('person')],
    [
      'deleted',
      async (repository: Repository) => {
        await repository.git('checkout', '--quiet', '--detach')
        await repository.git('branch', '-D', 'main')
      },
    ],
  ])('only if nobody else has %s it', async (_, change) => {
    const { repository, move } = await candidate()
    await change(repository)
    const before = await repository.tip()
    expect(await moveBranch(repository.top, move, gitIn)).toEqual({ kind: 'raced' })
    expect(await repository.tip()).toBe(before)
  })

  test.each<[what: string, path: string, text: string]>([
    ['the edits of a person', 'a.txt', 'mine\n'],
    ['an ignored file', 'secret', 'mine\n'],
    ['an ignored folder', 'results/of-a-night', 'mine\n'],
  ])('not over %s', async (_, path, text) => {
    const repository = await Repository.make()
    const from = await repository.commit('ignore', { '.gitignore': 'secret\nresults\n' })
    const to = await repository.branch('one', {
      '.gitignore': '',
      'a.txt': 'one\n',
      secret: '',
      results: '',
    })
    // Git would stash the edits, and leave conflicts where they cannot be applied.
    await repository.git('config', 'merge.autoStash', 'true')
    writeFiles(repository.top, { [path]: text })
    const moved = await moveBranch(repository.top, { branch: 'main', from, to }, gitIn)
    expect(moved).toMatchObject({ kind: 'refused', folder: repository.top })
    expect(readFileSync(join(repository.top, path), 'utf8')).toBe(text)
    expect(await repository.tip()).toBe(from)
  })

  test.each([
    ['branch.main.mergeOptions', '--squash'],
    ['branch.main.mergeOptions', '--strategy=ours'],
    ['merge.verifySignatures', 'true'],
  ])('although a person merges with %s %s', async (name, value) => {
    const { repository, move } = await candidate()
    await repository.git('config', name, value)
    expect(await moveBranch(repository.top, move, gitIn)).toEqual({ kind: 'moved' })
    expect(await repository.git('status', '--porcelain')).toBe('')
  })

  test('not while a person rebases it', async () => {
    const { repository, move } = await candidate()
    await repository.commit('person', { 'b.txt': 'mine\n' })
    const from = await repository.tip()
    const rebase = repository.git('rebase', '--quiet', '--exec', 'false', 'HEAD~1')
    expect(await rebase.catch(() => 'stopped')).toBe('stopped')
    const moved = await moveBranch(repository.top, { ...move, from, to: move.to }, gitIn)
    expect(moved).toMatchObject({
      kind: 'refused',
      why: expect.stringContaining('is being rebased'),
    })
    await repository.git('rebase', '--continue')
    expect(await repository.tip()).toBe(from)
  })

  test('in a working tree whose git folder is elsewhere', async () => {
    const { repository, move } = await candidate()
    await repository.git('init', '--quiet', '--separate-git-dir', join(makeProject(), 'git'))
    expect(await moveBranch(repository.top, move, gitIn)).toEqual({ kind: 'moved' })
    expect(await repository.git('status', '--porcelain')).toBe('')
  })
})

describe('a move that was cut off is completed', () => {
  /** A branch that changes, adds, deletes and links files. */
  async function cutOff() {
    const repository = await Repository.make()
    await repository.commit('more', { 'gone.txt': 'gone\n', 'c.txt': 'c\n' })
    const from = await repository.tip()
    const path = await repository.worktree('one', '-b', 'one')
    rmSync(join(path, 'gone.txt'))
    symlinkSync('a.txt', join(path, 'link'))
    mkdirSync(join(path, 'deep'))
    const to = await repository.commit(
      'all',
      { 'a.txt': 'one\n', 'deep/new.txt': 'n\n', 'c.txt': 'C\n' },
      path,
    )
    return { repository, move: { branch: 'main', from, to }, checkout: path }
  }

  test('with some files written and a locked index', async () => {
    const { repository, move, checkout } = await cutOff()
    const { top } = repository
    writeFileSync(join(top, 'a.txt'), 'one\n')
    rmSync(join(top, 'gone.txt'))
    symlinkSync('a.txt', join(top, 'link'))
    mkdirSync(join(top, 'deep'))
    writeFileSync(join(top, 'deep/new.txt'), '')
    writeFileSync(join(top, '.git/index.lock'), '')
    expect(await completeMove(top, move, checkout, gitIn)).toEqual({ kind: 'moved' })
    expect(await repository.git('status', '--porcelain')).toBe('')
    expect(await repository.tip()).toBe(move.to)
    expect(existsSync(join(top, 'gone.txt'))).toBe(false)
  })

  test('not over the edits of a person', async () => {
    const { repository, move, checkout } = await cutOff()
    const { top } = repository
    writeFileSync(join(top, 'a.txt'), 'one\n')
    writeFileSync(join(top, 'c.txt'), 'mine\n')
    expect(await completeMove(top, move, checkout, gitIn)).toMatchObject({ kind: 'refused' })
    expect(readFileSync(join(top, 'c.txt'), 'utf8')).toBe('mine\n')
    expect(await repository.tip()).toBe(move.from)
  })

  test('if only the news of it was lost', async () => {
    const { repository, move, checkout } = await cutOff()
    await moveBranch(repository.top, move, gitIn)
    expect(await completeMove(repository.top, move, checkout, gitIn)).toEqual({ kind: 'moved' })
  })
})
