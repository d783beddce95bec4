import { promptEvent, readEvents, succeeds, type Session } from './session.ts'

export interface MarkerCase {
  readonly id: string
  readonly title: string
  /** Whether the work is done after this output. */
  readonly isDone: boolean
  readonly say: (marker: string) => Session
}

/** What an agent says while it is not done. */
export const PROGRESS = 'The first of two tasks is done. The tests of the second still fail.'

export const MARKERS: readonly MarkerCase[] = [
  {
    id: '1',
    title: 'a line of its own, the last one',
    isDone: true,
    say: (marker) => succeeds(`All tasks are done and the tests pass.\n\n${marker}`),
  },
  {
    id: '2',
    title: 'a line of its own, then "Thanks!"',
    isDone: true,
    say: (marker) => succeeds(`All tasks are done.\n\n${marker}\n\nThanks!`),
  },
  {
    id: '3',
    title: '"I will not output X because tests fail"',
    isDone: false,
    say: (marker) => succeeds(`I will not output ${marker} because tests fail.`),
  },
  {
    id: '4',
    title: 'the prompt echoed, as Codex does',
    isDone: false,
    say: echoed,
  },
  {
    id: '5',
    title: 'assistant text inside stream-json',
    isDone: true,
    say: (marker) =>
      succeeds(`The last task is done.\n\n${marker}\n`, readEvents('TASKS.md', '- [x] one')),
  },
  {
    id: '6',
    title: 'a tool result that quotes a file with it',
    isDone: false,
    say: (marker) =>
      succeeds(
        PROGRESS,
        readEvents('AGENTS.md', `When everything is done, print\n${marker}\nand stop.`),
      ),
  },
  {
    id: '7',
    title: 'inside a fenced example',
    isDone: false,
    say: (marker) =>
      succeeds(
        `${PROGRESS} When it is done I am to print\n\n\`\`\`\n${marker}\n\`\`\`\n\nNot yet.`,
      ),
  },
]

function echoed(marker: string): Session {
  const prompt = `Do the next task. When all tasks are done, print ${marker} on a line of its own.`
  const session = succeeds(PROGRESS, [promptEvent(prompt)])
  return { ...session, text: `user\n${prompt}\n\ncodex\n${PROGRESS}` }
}
