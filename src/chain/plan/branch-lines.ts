import type { Node, Plan } from './plan.ts'
import type { PolicyLine } from './policy-lines.ts'

/** For the dry run: where each branch works and what it is merged into, by the id of its node. */
export function branchLines({ root }: Plan, base: string | undefined): Map<string, PolicyLine[]> {
  const found = new Map<string, PolicyLine[]>()
  const walk = (node: Node, target: string | undefined) => {
    const { branch } = node
    found.set(node.id, linesOf(node, target))
    const inside = branch?.isolation === 'worktree' ? 'the outer branch' : target
    if (node.kind !== 'step') for (const part of node.of) walk(part, inside)
  }
  walk(root, base)
  return found
}

/** `branch: own worktree, rebased onto main, checked by npm test`. */
function linesOf(node: Node, target: string | undefined): PolicyLine[] {
  const { branch, copies } = node
  const cancels = 'if one does not complete, the others are cancelled'
  const isFast =
    branch?.failFast === true || (node.kind !== 'step' && node.policy?.failFast === true)
  const ends = isFast ? [{ label: 'fail fast', words: cancels }] : []
  if (branch === undefined) return ends
  const { isolation, setup, copy = [], merge, verify } = branch
  if (isolation === 'shared') return [{ label: 'branch', words: 'shared folder' }, ...ends]
  const place = copies === undefined ? 'own worktree' : 'a worktree for each copy'
  const how = merge === 'merge' ? 'merged' : 'rebased'
  const into = target === undefined ? '' : ` ${merge === 'merge' ? 'into' : 'onto'} ${target}`
  const check = verify.length === 0 ? 'not checked' : `checked by ${verify.join(' and ')}`
  return [
    { label: 'branch', words: `${place}, ${how}${into}, ${check}` },
    ...(copy.length === 0 ? [] : [{ label: 'copy', words: copy.join(', ') }]),
    ...(setup === undefined ? [] : [{ label: 'setup', words: setup }]),
    ...ends,
  ]
}

/** For events, whose lists may be changed. */
export function branchJson({ branch }: Pick<Node, 'branch'>) {
  if (branch === undefined) return undefined
  const { copy, verify, ...rest } = branch
  return { ...rest, ...(copy === undefined ? {} : { copy: [...copy] }), verify: [...verify] }
}
