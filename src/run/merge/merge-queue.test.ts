import { describe, expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gitIn, Repository } from '../../../tests/support/merge-repository.ts'
import { makeProject } from '../../../tests/support/project.ts'
import { TargetBranch } from './target-branch.ts'
import type { IntegrationTree } from './integrate.ts'
import { MergeQueue, type GateResult, type HandedIn, type HandIn } from './merge-queue.ts'

/** A queue whose gate fails if two of the forbidden files are there, or a file called `red`. */
class Stage {
  readonly repository: Repository
  readonly target: TargetBranch
  readonly queue: MergeQueue
  readonly checked: string[] = []
  readonly moves: { from: string; to: string }[] = []
  #tree: IntegrationTree | undefined

  private constructor(repository: Repository, known: string) {
    this.repository = repository
    this.target = new TargetBranch(repository.top, 'main', 'forkhestra/r1/merged', known, gitIn)
    this.queue = new MergeQueue({
      target: this.target,
      tree: () => this.tree(),
      check: async () => this.#check((await this.tree()).path),
      lock: async (work) => {
        await Bun.sleep(0)
        return work()
      },
      started: () => {},
      ready: (_, from, to) => void this.moves.push({ from, to }),
      ended: () => {},
      reunited: () => {},
    })
  }

  static async make(): Promise<Stage> {
    const repository = await Repository.make()
    return new Stage(repository, await repository.tip())
  }

  async tree(): Promise<IntegrationTree> {
    return (this.#tree ??= await this.repository.integrationTree())
  }

  async handIn(name: string, tip: string): Promise<HandedIn> {
    const item: HandIn = { scope: [name], branch: name, tip, method: 'rebase', gates: ['check'] }
    return this.queue.handIn(item)
  }

  async #check(folder: string): Promise<GateResult> {
    this.checked.push((await gitIn(folder, 'rev-parse', 'HEAD')).trim())
    const bad = readdirSync(folder).filter((name) => name.startsWith('half'))
    return existsSync(join(folder, 'red')) || bad.length > 1
      ? { kind: 'closed', detail: 'check failed', feedback: 'red' }
      : { kind: 'open' }
  }

  /** Every commit that the target branch was moved to has passed, unless its files had passed before. */
  async expectGreenMoves(): Promise<void> {
    for (const { to } of this.moves) expect(this.checked).toContain(to)
  }
}

const EIGHT = Array.from({ length: 8 }, (_, number) => `b${number}`)

describe('eight branches with one that fails', () => {
  test.each(['b0', 'b3', 'b4', 'b7'])(
    'are merged without %s, with at most 5 runs of the gate',
    async (culprit) => {
      const stage = await Stage.make()
      const tips = new Map<string, string>()
      for (const name of EIGHT) {
        const files = name === culprit ? { red: '' } : { [`${name}-work`]: name }
        tips.set(name, await stage.repository.branch(name, files))
      }
      const results = await Promise.all(EIGHT.map((name) => stage.handIn(name, tips.get(name)!)))
      for (const [at, name] of EIGHT.entries())
        expect([name, results[at]!.kind]).toEqual([name, name === culprit ? 'gate' : 'merged'])
      expect(stage.checked.length).toBeLessThanOrEqual(5)
      const files = readdirSync(stage.repository.top)
      expect(files.filter((name) => name.endsWith('-work'))).toHaveLength(7)
      expect(files).not.toContain('red')
      await stage.expectGreenMoves()
    },
  )
})

test('of two branches that fail only together, one is merged', async () => {
  const stage = await Stage.make()
  const one = await stage.repository.branch('one', { 'half-1': '' })
  const two = await stage.repository.branch('two', { 'half-2': '' })
  const results = await Promise.all([stage.handIn('one', one), stage.handIn('two', two)])
  expect(results.map(({ kind }) => kind)).toEqual(['merged', 'gate'])
})

test('a branch that conflicts with another of its batch is refused after that is merged', async () => {
  const stage = await Stage.make()
  const one = await stage.repository.branch('one', { 'a.txt': 'one\n' })
  const two = await stage.repository.branch('two', { 'a.txt': 'two\n' })
  const three = await stage.repository.branch('three', { 'c.txt': 'three\n' })
  const results = await Promise.all([
    stage.handIn('one', one),
    stage.handIn('two', two),
    stage.handIn('three', three),
  ])
  expect(results.map(({ kind }) => kind)).toEqual(['merged', 'conflict', 'merged'])
  expect(results[1]).toMatchObject({ files: ['a.txt'] })
})

test('nobody is blamed if the target branch itself fails', async () => {
  const stage = await Stage.make()
  await stage.repository.commit('red', { red: '' })
  const tips = [await stage.repository.branch('one', {}), await stage.repository.branch('two', {})]
  const results = await Promise.all(tips.map((tip, at) => stage.handIn(`b${at}`, tip)))
  for (const result of results)
    expect(result).toEqual({
      kind: 'broken',
      detail: 'the checks already fail on main: check failed',
      cause: 'check_failed',
    })
})

test('a branch that fails on an untested target is blamed if the target passes', async () => {
  const stage = await Stage.make()
  const tip = await stage.repository.branch('one', { red: '' })
  expect(await stage.handIn('one', tip)).toMatchObject({ kind: 'gate', detail: 'check failed' })
})

test('merges build on what somebody else has committed', async () => {
  const stage = await Stage.make()
  const tip = await stage.repository.branch('one', { 'c.txt': 'c' })
  const person = await stage.repository.commit('by hand', { 'd.txt': 'd' })
  expect(await stage.handIn('one', tip)).toMatchObject({ kind: 'merged' })
  const log = await stage.repository.git('rev-list', 'main')
  expect(log).toContain(person)
  expect(await stage.repository.git('status', '--porcelain')).toBe('')
})

test('merges continue aside while a person edits the same file, and the target branch follows', async () => {
  const stage = await Stage.make()
  const { repository } = stage
  const before = await repository.tip()
  const one = await repository.branch('one', { 'a.txt': 'one\n' })
  const two = await repository.branch('two', { 'c.txt': 'c' })
  writeFileSync(join(repository.top, 'a.txt'), 'mine\n')
  expect(await stage.handIn('one', one)).toMatchObject({
    kind: 'merged',
    aside: expect.stringContaining('a.txt'),
  })
  expect(await stage.handIn('two', two)).toMatchObject({ kind: 'merged', aside: '' })
  expect(await repository.tip()).toBe(before)
  expect(readFileSync(join(repository.top, 'a.txt'), 'utf8')).toBe('mine\n')
  await repository.git('checkout', '--', 'a.txt')
  const three = await repository.branch('three', { 'd.txt': 'd' })
  expect(await stage.handIn('three', three)).toMatchObject({ kind: 'merged' })
  expect(await repository.tip('forkhestra/r1/merged')).toBe('none')
  expect(readdirSync(repository.top)).toEqual(expect.arrayContaining(['c.txt', 'd.txt']))
})

test('a branch aside that a person looks at is neither deleted nor moved without its files', async () => {
  const stage = await Stage.make()
  const { repository } = stage
  const one = await repository.branch('one', { 'a.txt': 'one\n' })
  const two = await repository.branch('two', { 'c.txt': 'c' })
  writeFileSync(join(repository.top, 'a.txt'), 'mine\n')
  await stage.handIn('one', one)
  await repository.git('checkout', '--', 'a.txt')
  await repository.git('checkout', '--quiet', 'forkhestra/r1/merged')
  expect(await stage.handIn('two', two)).toMatchObject({ kind: 'merged' })
  expect(await repository.git('status', '--porcelain')).toBe('')
  expect(await repository.tip('forkhestra/r1/merged')).not.toBe('none')
  expect(await stage.target.workAside()).toBe(undefined)
  // Somebody else has moved the target branch on.
  const elsewhere = join(makeProject(), 'elsewhere')
  await repository.git('worktree', 'add', '--quiet', elsewhere, 'main')
  await repository.commit('other', { 'd.txt': 'd' }, elsewhere)
  const three = await repository.branch('three', { 'e.txt': 'e' })
  expect(await stage.handIn('three', three)).toMatchObject({ kind: 'merged' })
  expect(await stage.target.workAside()).toBe(undefined)
  expect(await repository.git('ls-tree', '--name-only', 'main')).toContain('c.txt')
})

test.each(['a.txt', '.env'])(
  'merges continue aside if files cannot follow the target branch because of %s',
  async (path) => {
    const stage = await Stage.make()
    const { repository } = stage
    await repository.commit('ignore', { '.gitignore': '.env\n' })
    const tip = await repository.branch('one', { 'c.txt': 'c' })
    const agents = await repository.branch('agent', { '.gitignore': '', [path]: 'agent\n' })
    writeFileSync(join(repository.top, path), 'mine\n')
    await stage.target.followFiles()
    await repository.git('update-ref', 'refs/heads/main', agents)
    const result = await stage.handIn('one', tip)
    expect(result).toMatchObject({ kind: 'merged', aside: expect.stringContaining(path) })
    expect(readFileSync(join(repository.top, path), 'utf8')).toBe('mine\n')
    rmSync(join(repository.top, path))
    await repository.git('checkout', '--', '.')
    expect(await stage.handIn('again', tip)).toMatchObject({ kind: 'merged' })
    expect(await repository.git('status', '--porcelain')).toBe('')
    expect(await repository.git('ls-tree', '--name-only', 'main')).toContain('c.txt')
  },
)

test('what was merged aside is put onto commits that a person has made meanwhile', async () => {
  const stage = await Stage.make()
  const { repository } = stage
  const one = await repository.branch('one', { 'a.txt': 'one\n' })
  writeFileSync(join(repository.top, 'a.txt'), 'mine\n')
  await stage.handIn('one', one)
  await repository.git('checkout', '--', 'a.txt')
  const person = await repository.commit('by hand', { 'b.txt': 'mine\n' })
  const two = await repository.branch('two', { 'c.txt': 'c' })
  expect(await stage.handIn('two', two)).toMatchObject({ kind: 'merged' })
  const log = await repository.git('log', '--format=%s', 'main')
  expect(log.trim().split('\n').toSorted()).toEqual([
    'by hand',
    'first',
    'one 1',
    'one 2',
    'two 1',
    'two 2',
  ])
  expect(await repository.git('rev-list', 'main')).toContain(person)
  expect(await repository.tip('forkhestra/r1/merged')).toBe('none')
})

test('merges are kept aside if the target branch was deleted', async () => {
  const stage = await Stage.make()
  const { repository } = stage
  const tip = await repository.branch('one', { 'c.txt': 'c' })
  await stage.tree()
  await repository.git('checkout', '--quiet', '--detach')
  await repository.git('branch', '--quiet', '-D', 'main')
  const result = await stage.handIn('one', tip)
  expect(result).toMatchObject({ kind: 'merged', aside: 'branch main was deleted' })
  expect(await repository.tip('forkhestra/r1/merged')).toBe(tip)
})
