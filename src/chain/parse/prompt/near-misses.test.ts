import { expect, test } from 'bun:test'
import { findNearMisses } from './near-misses.ts'

test.each([
  ['/raed notes.md\nGo.', [['/raed', '/read']]],
  ['Go.\n/PUSH "x"\n', [['/PUSH', '/push']]],
  [
    '/RUN\n/Run 3\nGo.',
    [
      ['/RUN', '/run'],
      ['/Run', '/run'],
    ],
  ],
  ['Go.\n\n/psuh name=a x', [['/psuh', '/push']]],
  ['/review the code\n/usr/bin is a folder\n/ \n /raed x\nsee /raed\n/read\n/i', []],
  [
    ' /read notes.md\n\n\t/raed x\nGo.',
    [
      ['/read', '/read'],
      ['/raed', '/read'],
    ],
  ],
  ['Go.\n  /push name=a "x"\n', [['/push', '/push']]],
  ['Write it so:\n    /read notes.md\nand go.', []],
  ['Go.\n/push "x"\nAnd then.', [['/push', '/push']]],
  [
    'Go.\n/read a.md\n/push "x"\n/run\nAnd then.',
    [
      ['/read', '/read'],
      ['/push', '/push'],
    ],
  ],
  ['Like this:\n```\n/push "x"\n```\nGo.', []],
  ['/push "x"\nGo.\n/push "y"', []],
  ['Go.', []],
])('%j', (content, found) => {
  expect(findNearMisses(content).map(({ word, meant }) => [word, meant])).toEqual(found)
})
