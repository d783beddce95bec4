import type { Problem } from '../base/errors.ts'
import type { AgentFile } from '../chain/parse/agent-file.ts'
import {
  checkConfiguration,
  describeFiles,
  describeSize,
  fileProblems,
  missingPrograms,
  reachableFiles,
} from '../host/check-configuration.ts'
import type { Configuration } from '../host/configuration.ts'
import { readFacts } from '../host/facts.ts'
import { agentEnvironment } from '../host/own-folder.ts'
import type { Input } from './command.ts'
import { configPath, projectOf } from './front-end.ts'

/** The command `validate`: checks everything in a configuration that can be checked without running it. */
export async function validateConfiguration(input: Input): Promise<number> {
  const project = projectOf(input)
  const { folder: cwd } = project
  const facts = readFacts(agentEnvironment(process.env))
  const others = fileProblems(cwd, facts)
  const path = configPath(input, project)
  const configuration = await checkConfiguration(project, path, facts, process.env, others)
  const missing = missingPrograms(configuration, cwd, facts)
  report(input, configuration, reachableFiles(configuration.content, cwd, facts), missing)
  return 0
}

function report(
  input: Input,
  { file, content }: Configuration,
  files: ReadonlyMap<string, AgentFile>,
  missing: readonly Problem[],
): void {
  const chains = Object.keys(content.chains).length
  const agents = Object.keys(content.agents ?? {}).length
  if (input.flag('json')) {
    const agentFiles = [...files.values()].map(({ name, path }) => ({ name, file: path }))
    const warnings = missing.length === 0 ? {} : { warnings: missing.map(({ message }) => message) }
    const result = { ok: true, file: file ?? null, chains, agents, agentFiles, ...warnings }
    console.log(JSON.stringify(result))
    return
  }
  if (file === undefined) console.log('No configuration found; nothing to check.')
  else console.log(`${file} is valid: ${describeSize(content)}.`)
  if (files.size > 0) console.log(`Claude Code agents: ${describeFiles(files)}.`)
  for (const { message, hint = '' } of missing) {
    console.log([`Warning: ${message}`, ...hint.split('\n').filter(Boolean)].join('\n  '))
  }
}
