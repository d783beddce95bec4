import { resolve } from 'node:path'
import { printable } from '../../base/terminal/printable.ts'
import { cleanWorktrees } from '../../host/worktrees/clean-worktrees.ts'
import { findLeftWork } from '../../host/worktrees/find-left-work.ts'
import { renderLeftWork, type LeftWork } from '../../views/worktrees.ts'
import type { Input } from '../command.ts'
import { frontEndOf } from '../front-end.ts'
import { print, printResult } from '../print.ts'

const NOTHING = 'No worktrees or branches of runs are left.'

export async function listWorktrees(input: Input): Promise<number> {
  const frontEnd = frontEndOf(input)
  if (input.flag('clean')) return clean(input)
  const left = await findLeftWork(frontEnd)
  const lines = left.length === 0 ? [NOTHING] : renderLeftWork(left, resolve('.'))
  return printResult(input, { worktrees: left }, lines.join('\n'))
}

async function clean(input: Input): Promise<number> {
  const { removed, kept } = await cleanWorktrees(frontEndOf(input))
  const text = [
    ...removed.map((work) => `removed: ${placeOf(work)}`),
    ...kept.map((work) => `kept: ${placeOf(work)}: ${printable(work.blocker!)}`),
    ...(removed.length + kept.length === 0 ? [NOTHING] : []),
    ...(kept.length === 0 ? [] : ['For the next steps: forkhestra worktrees']),
  ]
  print(input.flag('json') ? JSON.stringify({ removed, kept }) : text.join('\n'))
  return kept.length === 0 ? 0 : 1
}

function placeOf({ path, branch }: LeftWork): string {
  return printable(branch ?? path ?? '')
}
