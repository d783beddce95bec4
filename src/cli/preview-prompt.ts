import type { Phases } from '../chain/parse/prompt/phases.ts'
import { makeReader, type ReadOptions } from '../chain/prompts/read-files.ts'
import type { PromptPreview } from '../views/prompt-check.ts'

/** What a prompt would do: its files are looked at, nothing else is done. */
export function previewPrompt(
  { setup, content, teardown }: Phases,
  options: ReadOptions,
): PromptPreview {
  const read = makeReader(options)
  const look = (path: string) => {
    const answer = read(path)
    if ('as' in answer || !answer.ok) return answer
    const { bytes, tokens } = answer
    return { ok: true as const, bytes, tokens }
  }
  return {
    setup: setup.map((command) =>
      command.kind === 'read' ? { ...command, file: look(command.path) } : command,
    ),
    content,
    teardown,
  }
}
