import { basename, dirname, resolve } from 'node:path'
import { dropUndefined } from '../../base/objects.ts'
import { UserError } from '../../base/errors.ts'
import type { PolicyConfig } from '../parse/policy-schema.ts'
import type { Facts } from './facts.ts'
import {
  branchesIn,
  stepsOf,
  type BranchPlan,
  type Node,
  type Plan,
  type StepNode,
} from './plan.ts'

/** The settings for branches of the command line, or of one level of the configuration. */
export type BranchConfig = Pick<PolicyConfig, 'isolation' | 'setup' | 'copy' | 'merge'>

const FIELDS = ['isolation', 'setup', 'copy', 'merge'] as const

/** Takes each field from the first level that sets it. */
export function inherit(...levels: readonly BranchConfig[]): BranchConfig {
  const find = (name: (typeof FIELDS)[number]) =>
    levels.find((level) => level[name] !== undefined)?.[name]
  return Object.fromEntries(FIELDS.map((name) => [name, find(name)]))
}

export function uselessFields(step: StepNode, own: BranchConfig): string[] {
  const name = step.name ?? step.agent.name
  return FIELDS.filter((field) => own[field] !== undefined).map(
    (field) => `"${field}" of '${name}' has no effect: it does not run in parallel with others`,
  )
}

/** The settings of a node if it, or each of its copies, is a branch. */
export function makeBranch(
  node: Node,
  config: BranchConfig,
  { failFast }: { readonly failFast?: boolean | undefined } = {},
): BranchPlan {
  const { isolation = usualIsolation(node), setup, copy, merge = 'rebase' } = config
  const inWorktree = isolation === 'worktree' ? dropUndefined({ setup, copy }) : {}
  const ofCopies = node.copies === undefined ? {} : dropUndefined({ failFast })
  return { isolation, ...inWorktree, merge, verify: [], ...ofCopies }
}

/** Programs that run only once, such as checks, can share a folder. */
function usualIsolation(node: Node): BranchPlan['isolation'] {
  const builds = stepsOf(node).some(
    ({ loop, agent }) => loop !== undefined || agent.engine !== 'binary',
  )
  return node.copies !== undefined || builds ? 'worktree' : 'shared'
}

/** The gates of a branch's steps also check its merges. */
export function withMergeGates<Of extends Node>(node: Of): Of
export function withMergeGates(node: Node): Node {
  const whole = node.kind === 'step' ? node : { ...node, of: node.of.map((n) => withMergeGates(n)) }
  if (whole.branch === undefined) return whole
  const verify = [...new Set(stepsOf(whole).flatMap(({ policy }) => policy.verify))]
  return { ...whole, branch: { ...whole.branch, verify } }
}

/** Without a git repository all branches work in the same folder. */
export function shareFolder<Of extends Node>(node: Of): Of
export function shareFolder(node: Node): Node {
  const whole = node.kind === 'step' ? node : { ...node, of: node.of.map((n) => shareFolder(n)) }
  if (whole.branch === undefined) return whole
  const { setup: _, copy: __, ...branch } = whole.branch
  return { ...whole, branch: { ...branch, isolation: 'shared' } }
}

/** With more steps, every event of a run would become slow. */
const MOST_INSTANCES = 4096

/** Refuses nested copies that add up to too many steps. */
export function checkInstances(root: Node): void {
  const count = countInstances(root)
  if (count <= MOST_INSTANCES) return
  throw new UserError(
    `Counting all copies, the chain has ${count} steps; the maximum is ${MOST_INSTANCES}.`,
    'Use fewer copies in groups that contain other copies.',
  )
}

function countInstances(node: Node): number {
  const { copies = 1 } = node
  if (node.kind === 'step') return copies
  return copies * node.of.reduce((sum, part) => sum + countInstances(part), 0)
}

/** Warns that work may be lost if branches cannot have worktrees. */
export function sharingWarnings(cwd: string, root: Node): string[] {
  const branches = worktreesOf(root)
  return branches.length === 0
    ? []
    : [
        `${cwd} is not in a git repository: ${describe(branches)} work in the same folder and may overwrite each other's changes`,
      ]
}

/** Warnings about branches whose work nothing tests, and about settings without effect. */
export function branchWarnings(
  { cwd, root }: Plan,
  given: BranchConfig,
  facts: Pick<Facts, 'namesIn'>,
): string[] {
  const branches = worktreesOf(root)
  const untested = untestedIn(root)
  const paths = new Set(branches.flatMap(({ branch }) => branch?.copy ?? []))
  const missing = [...paths].filter((path) => {
    const full = resolve(cwd, path)
    return !facts.namesIn(dirname(full)).includes(basename(full))
  })
  const useless = branches.length > 0 ? [] : (['setup', 'copy'] as const)
  return [
    ...(untested.length === 0
      ? []
      : [
          `nothing checks the merged work of ${describe(untested)}: add "verify" in the configuration, or --verify "npm test"`,
        ]),
    ...missing.map((path) => `there is no ${path} in ${cwd} to copy to the worktrees`),
    ...useless
      .filter((name) => given[name] !== undefined)
      .map((name) => `--${name} has no effect: nothing runs in its own worktree`),
  ]
}

/** The outermost branches with worktrees that no gate checks; those inside are not checked either. */
function untestedIn(node: Node): Node[] {
  const { branch } = node
  if (branch?.isolation === 'worktree' && branch.verify.length === 0) return [node]
  return node.kind === 'step' ? [] : node.of.flatMap(untestedIn)
}

export function hasWorktrees({ root }: Pick<Plan, 'root'>): boolean {
  return worktreesOf(root).length > 0
}

function worktreesOf(root: Node): Node[] {
  return branchesIn(root).filter(({ branch }) => branch?.isolation === 'worktree')
}

/** `'lint', 4 copies of 'build'`. */
function describe(branches: readonly Node[]): string {
  return [...new Set(branches.map(describeBranch))].join(', ')
}

function describeBranch(node: Node): string {
  if (node.id === 'root') return 'the chain'
  const own = node.kind === 'step' ? node.agent.name : undefined
  const known = node.name ?? own
  const name = known === undefined ? `group ${node.id}` : `'${known}'`
  return node.copies === undefined ? name : `${node.copies} copies of ${name}`
}
