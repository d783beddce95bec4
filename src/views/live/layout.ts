import type { Live } from './live.ts'

export interface Layout {
  /** Columns of the tree, without the line next to it; 0 if the right side has the whole screen. */
  readonly tree: number
  readonly detail: number
  /** Rows between the heading and the keys. */
  readonly height: number
}

const [NARROWEST_TREE, WIDEST_TREE] = [24, 44]
/** In a narrower terminal, only one side is shown. */
const NARROWEST = 56

export function layoutOf({ size: { width, height }, isWide }: Pick<Live, 'size' | 'isWide'>) {
  const rows = Math.max(1, height - 2)
  if (isWide) return { tree: 0, detail: width, height: rows }
  if (width < NARROWEST) return { tree: width, detail: 0, height: rows }
  const tree = Math.min(WIDEST_TREE, Math.max(NARROWEST_TREE, Math.floor(width * 0.38)))
  return { tree, detail: width - tree - 2, height: rows }
}

/** The first visible row of the tree: the selected one stays in the middle, so that the next ones are visible. */
export function treeTop(selected: number, count: number, height: number): number {
  return Math.max(0, Math.min(selected - Math.floor(height / 2), count - height))
}
