import { isInRepository } from '../base/repository.ts'
import { initProject as writeProject } from '../host/init-project.ts'
import { refuseNestedProject } from '../host/project.ts'
import type { Input } from './command.ts'
import { projectOf } from './front-end.ts'

const BUILD = 'forkhestra --chain build-all'
const NO_REPOSITORY =
  'Next: create a git repository, without which agents cannot commit:\n  git init'
const OFFER = 'forkhestra init --agents-md'

export async function initProject(input: Input): Promise<number> {
  const project = projectOf(input)
  refuseNestedProject(project, 'forkhestra init')
  const withInstructions = input.flag('agents-md')
  const withPrompts = input.flag('eject-prompts')
  const options = { withPrompts, withInstructions, env: process.env }
  const { files, left, instructions, specs } = writeProject(project, options)
  if (input.flag('json')) {
    const written = files.map(({ path }) => path)
    console.log(JSON.stringify({ ok: true, written, left, next: BUILD }))
    return 0
  }
  for (const { path, append } of files)
    console.log(append === true ? `Added a section to ${path}` : `Wrote ${path}`)
  for (const { path, why } of left) console.log(`Skipped: ${path} (${why})`)
  const start = isInRepository(project.folder) ? 'Next:' : `${NO_REPOSITORY}\nThen`
  console.log(`\n${start} describe what to build in ${specs}/PLAN.md and SPECS.md, then run`)
  console.log(`  ${BUILD}`)
  if (!instructions.hasSection && !withInstructions)
    console.log(`\nTo tell coding agents about forkhestra in ${instructions.path}, run\n  ${OFFER}`)
  return 0
}
