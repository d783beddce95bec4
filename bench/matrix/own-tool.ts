import { version } from '../../package.json'
import type { Tool } from './judge.ts'
import { MARKER } from './own.ts'
import type { Way } from './own-run.ts'

const AGENTS: Readonly<Record<Way, string>> = { direct: 'direct', text: 'claude' }
const REMARKS: Readonly<Record<Way, string>> = {
  direct: 'it calls `claude` itself and reads its events',
  text: 'the stand-in is a program of the chain, and prints text',
}

/** forkhestra, tried like the others: with its defaults, and watched from outside. */
export function ownTool(way: Way): Tool {
  return {
    name: `forkhestra (${way})`,
    version,
    marker: MARKER,
    setUp: (program, iterations) => ({
      argv: [program, `${AGENTS[way]}:${iterations}`, '-p', 'Write a file.'],
      files: {
        'forge/orch/chains.json': JSON.stringify({
          agents: { direct: { systemPromptText: 'A stand-in plays you.' } },
          chains: {},
        }),
      },
    }),
    isDone: ({ code }) => code === 0,
    remark: `${REMARKS[way]}; done means that it ends with exit code 0`,
  }
}
