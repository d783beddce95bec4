import { UserError, type Problem } from '../../base/errors.ts'
import { nearest } from '../../base/nearest.ts'
import {
  fillTemplate,
  parseHoles,
  parseTemplate,
  variablesOf,
  type Template,
} from '../parse/template.ts'
import { BUILT_IN_VARIABLES } from './plan.ts'

/** Fills in `${NAME}` with the values of the command line, and tracks missing and unused ones. */
export class Variables {
  readonly #given: ReadonlyMap<string, string>
  readonly #referenced = new Set<string>()
  /** Names by message. */
  readonly #missing = new Map<string, string>()

  readonly #isLiteral: boolean

  /** With 'built-in only', any other `${NAME}` is text. */
  constructor(variables: ReadonlyMap<string, string> | 'built-in only') {
    const given = variables === 'built-in only' ? new Map<string, string>() : variables
    this.#isLiteral = variables === 'built-in only'
    for (const name of given.keys()) {
      if (!BUILT_IN_VARIABLES.includes(name)) continue
      throw new UserError(
        `The variable '${name}' is set by forkhestra itself and cannot be overridden.`,
        `Choose another name. Reserved names: ${BUILT_IN_VARIABLES.join(', ')}.`,
      )
    }
    this.#given = given
  }

  fill(text: string): { readonly template: Template; readonly missing: readonly string[] } {
    if (this.#isLiteral) return { template: parseHoles(text, BUILT_IN_VARIABLES), missing: [] }
    const template = fillTemplate(parseTemplate(text), this.#given)
    for (const name of variablesOf(parseTemplate(text))) this.#referenced.add(name)
    const missing = variablesOf(template).filter((name) => !BUILT_IN_VARIABLES.includes(name))
    return { template, missing }
  }

  /** Like `fill`, but missing variables are problems. `owner` is an agent or `chain 'name'`. */
  require(text: string, owner: string): Template {
    const { template, missing } = this.fill(text)
    this.demand(missing, owner)
    return template
  }

  demand(missing: readonly string[], owner: string): void {
    for (const name of missing) {
      const message = `Variable '${name}' referenced in ${owner} but not provided`
      this.#missing.set(message, name)
    }
  }

  get problems(): readonly Problem[] {
    return [...this.#missing].map(([message, name]) => {
      const close = nearest(name, this.#unused)
      const hint =
        close === undefined
          ? `Add ${name}=value to the command.`
          : `Use ${name}=… instead of ${close}=…`
      return { message, hint }
    })
  }

  /** Warnings about variables that nothing references; commands and prompt files are not filled in. */
  warnings(
    commands: readonly string[] = [],
    promptFiles: readonly string[] = [],
  ): readonly string[] {
    return this.#unused.map((name) => {
      if (promptFiles.some((text) => text.includes(`\${${name}}`)))
        return `Variable '${name}' is not filled in inside prompt files. Put the text into "prompt" instead.`
      const isInCommand = commands.some((each) => new RegExp(`\\$\\{?${name}\\b`).test(each))
      return isInCommand
        ? `Variable '${name}' is not filled in inside commands: the shell takes it from the environment. Put ${name}=… before forkhestra.`
        : `Variable '${name}' is set, but nothing references it.`
    })
  }

  get #unused(): readonly string[] {
    return [...this.#given.keys()].filter((name) => !this.#referenced.has(name))
  }
}
