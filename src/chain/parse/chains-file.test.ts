import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { UserError } from '../../base/errors.ts'
import { parseChainsFile } from './chains-file.ts'

const parse = (text: string) => parseChainsFile(text, 'chains.json')

function problems(text: string): string[] {
  try {
    parse(text)
  } catch (error) {
    if (error instanceof UserError) return error.problems.map(({ message }) => message)
    throw error
  }
  return []
}

/** Expects one problem, at the place marked by `¶`. */
function expectProblem(marked: string, problem: string): void {
  const place = `chains.json:1:${marked.indexOf('¶') + 1}`
  expect(problems(marked.replace('¶', ''))).toEqual([`${place}  ${problem}`])
}

const inStep = (fields: string) => `{ "chains": { "build": { "steps": [{ ${fields} }] } } }`
const inAgent = (fields: string) => `{ "agents": { "fk:a": { ${fields} } }, "chains": {} }`

const EVERYTHING = {
  $schema: './chains.schema.json',
  agents: {
    'fk:planner': {
      defaultPrompt: 'Plan',
      defaultPromptFile: 'plan.md',
      systemPrompt: 'system.md',
      systemPromptText: 'You plan.',
      mcpConfig: 'mcp.json',
      settings: 'settings.json',
      model: 'opus',
      maxTurns: 50,
      allowedTools: ['Read', 'Bash(git:*)'],
      disallowedTools: [],
    },
  },
  chains: {
    build: {
      description: 'Builds',
      prompt: 'Build ${WHAT}',
      promptFile: 'build.md',
      steps: [
        { agent: 'fk:planner', iterations: 3, args: ['--x', ''], prompt: '', promptFile: 'p.md' },
        { agent: './b' },
      ],
    },
  },
}

describe('what is accepted', () => {
  test('every field is kept unchanged', () => {
    expect(parse(JSON.stringify(EVERYTHING))).toEqual(EVERYTHING)
  })

  test.each([
    ['comments', '// first\n{ /* all */ "chains": {} // last\n}'],
    ['trailing commas', '{ "chains": { "a": { "steps": [{ "agent": "x", }, ], }, }, }'],
    ['Windows line ends', '{\r\n  "chains": {}\r\n}\r\n'],
  ])('%s are allowed', (_, text) => {
    expect(Object.keys(parse(text))).toEqual(['chains'])
  })

  test.each(['sonnet', 'opus', 'haiku', 'claude-sonnet-5-5', 'local/model:7b'])(
    'the model %s is fine',
    (model) => {
      expect(parse(inAgent(`"model": "${model}"`)).agents?.['fk:a']).toEqual({ model })
    },
  )

  test('names of Object.prototype are ordinary names', () => {
    const { chains } = parse('{ "chains": { "constructor": { "steps": [{ "agent": "x" }] } } }')
    expect(Object.keys(chains)).toEqual(['constructor'])
  })
})

test.each([
  [
    '"agent": "x", "iterations": ¶"three"',
    'steps[0].iterations is "three", expected a whole number from 1 to 100000',
  ],
  [
    '"agent": "x", "iterations": ¶0',
    'steps[0].iterations is 0, expected a whole number from 1 to 100000',
  ],
  [
    '"agent": "x", "iterations": ¶1.5',
    'steps[0].iterations is 1.5, expected a whole number from 1 to 100000',
  ],
  [
    '"agent": "x", "iterations": ¶100001',
    'steps[0].iterations is 100001, expected a whole number from 1 to 100000',
  ],
  ['"agent": "x", "args": ¶"y"', 'steps[0].args is "y", expected a list of strings'],
  ['"agent": "x", "args": ["y", ¶7]', 'steps[0].args[1] is 7, expected a string'],
  ['"agent": "x", "promptFile": ¶null', 'steps[0].promptFile is null, expected a string'],
  [
    '"agent": "x", "prompt": ¶"\\u0000"',
    'steps[0].prompt is "\\u0000", expected a string without NUL characters',
  ],
  [
    '"agent": ¶""',
    `steps[0].agent is "", expected the name or path of an agent, not beginning with '-'`,
  ],
  [
    '"agent": ¶"-x"',
    `steps[0].agent is "-x", expected the name or path of an agent, not beginning with '-'`,
  ],
  [
    '"agent": "x", ¶"itterations": 3',
    "steps[0].itterations is unknown (did you mean 'iterations'?)",
  ],
  [
    '"agent": "x", "isolation": ¶"vm"',
    'steps[0].isolation is "vm", expected "shared" or "worktree"',
  ],
  ['"agent": "x", "merge": ¶"squash"', 'steps[0].merge is "squash", expected "rebase" or "merge"'],
  ['"agent": "x", "setup": ¶" "', 'steps[0].setup is " ", expected a command that is not empty'],
  [
    '"agent": "x", "copy": ¶".env"',
    'steps[0].copy is ".env", expected a list of paths inside the project',
  ],
  ...['../x', '/etc/passwd', 'a/../../x', '.', '', '.git/config', '~/x'].map(
    (path): [string, string] => [
      `"agent": "x", "copy": ["a", ¶"${path}"]`,
      `steps[0].copy[1] is "${path}", expected a path inside the project such as ".env"`,
    ],
  ),
  [
    '"parallel": [{ "agent": "x", "onFail": ¶"continue" }]',
    'steps[0].parallel[0].onFail is "continue", expected no value: set it for the parallel group, or put the item into a "sequence"',
  ],
  [
    '"agent": "x", ¶"maxTurns": 3',
    'steps[0].maxTurns is unknown here: it is a field of an agent: "agents": { "NAME": { "maxTurns": … } }',
  ],
  [
    '"agent": "x", ¶"zzz": 3',
    'steps[0].zzz is unknown; known: agent, chain, copies, failFast, name, iterations, args, prompt, promptFile, verify, until, timeout, idleTimeout, maxCostUsd, maxTokens, maxDuration, retry, maxWait, stall, onFail, when, hooks, env, grace, rawPrompt, readLimit, readRoots, isolation, setup, copy, merge, sequence, parallel, fallback',
  ],
])('a step with %s is refused', (fields, problem) => {
  expectProblem(inStep(fields), `chains.build.${problem}`)
})

test.each([
  ['"queue": ¶"yes"', 'queue is "yes", expected true or false'],
  ['"rawPrompt": ¶1', 'rawPrompt is 1, expected true or false'],
  ['"readLimit": ¶"512KiB"', 'readLimit is "512KiB", expected a positive integer'],
  ['"readRoots": ¶"lib"', 'readRoots is "lib", expected a list of folders'],
  ['"readRoots": ["lib", ¶" "]', 'readRoots[1] is " ", expected a folder, e.g. "../shared"'],
  ['"maxTurns": ¶-1', 'maxTurns is -1, expected a positive integer'],
  ['¶"maxTurn": 5', "maxTurn is unknown (did you mean 'maxTurns'?)"],
  ['¶"prompt": "x"', "prompt is unknown (did you mean 'defaultPrompt'?)"],
  ['¶"promptFile": "x"', "promptFile is unknown (did you mean 'defaultPromptFile'?)"],
  ['¶"iterations": 3', 'iterations is unknown here: it is a field of a step'],
  ['"model": ¶5', 'model is 5, expected a model name'],
  [
    '"model": ¶"sonet"',
    `model is "sonet", expected "sonnet", "opus", "haiku" or a full model id such as "claude-sonnet-5-5" (with "engine": "native" also provider/id such as "openai/gpt-6-sol") (did you mean 'sonnet'?)`,
  ],
  [
    '"model": ¶"gpt"',
    'model is "gpt", expected "sonnet", "opus", "haiku" or a full model id such as "claude-sonnet-5-5" (with "engine": "native" also provider/id such as "openai/gpt-6-sol")',
  ],
  ['"allowedTools": ¶{}', 'allowedTools is an object, expected a list of strings'],
])('an agent with %s is refused', (fields, problem) => {
  expectProblem(inAgent(fields), `agents.fk:a.${problem}`)
})

test.each([
  [
    '{ "agents": ¶[1], "chains": {} }',
    'agents is a list, expected an object that maps names to agents',
  ],
  [
    '{ "agents": { "a": ¶true }, "chains": {} }',
    'agents.a is true, expected an object with the fields of an agent',
  ],
  [
    '{ "chains": { "a": { "steps": ¶[] } } }',
    'chains.a.steps is an empty list, expected at least one step',
  ],
  [
    '{ "chains": { "a": { "steps": [¶"x"] } } }',
    'chains.a.steps[0] is "x", expected an object such as { "agent": "builder", "iterations": 20 }',
  ],
  [
    '{ "chains": { "a": { "steps": [¶{}] } } }',
    'chains.a.steps[0].agent is missing, expected a string, or one of "agent", "chain", "sequence", "parallel" and "fallback"',
  ],
  ['{ "chains": { "a": ¶{} } }', 'chains.a.steps is missing, expected a list of steps'],
  ['{ "chains": { "0": ¶null } }', 'chains.0 is null, expected an object with "steps"'],
  ['{ "chains": { "my chain": ¶1 } }', 'chains["my chain"] is 1, expected an object with "steps"'],
  [
    '{ "chains": { "a": { ¶"step": [], "steps": [{ "agent": "x" }] } } }',
    "chains.a.step is unknown (did you mean 'steps'?)",
  ],
  [
    '{ "chains": { "a": { "steps": [{ "agent": "x" }], ¶"model": "opus" } } }',
    'chains.a.model is unknown here: it is a field of an agent: "agents": { "NAME": { "model": … } }',
  ],
  [
    '{ "chains": { "a": { "steps": [{ "agent": "x" }], ¶"args": [] } } }',
    'chains.a.args is unknown here: it is a field of a step',
  ],
  ['¶{}', 'chains is missing, expected an object that maps names to chains, {} if there are none'],
  ['{ ¶"chain": {}, "chains": {} }', "chain is unknown (did you mean 'chains'?)"],
  ['¶[]', 'the file is an empty list, expected an object with "chains"'],
  ['¶null', 'the file is null, expected an object with "chains"'],
  ['{ "chains": {}, ¶"chains": {} }', 'chains is defined twice'],
  ['{ "chains": { ¶"__proto__": {} } }', 'chains.__proto__ is not a valid name'],
  ['{ "chains": { ¶"": { "steps": [] } } }', 'chains[""] has an empty name'],
  ['{ "chains": {}, "agents": { ¶" \\t": {} } }', 'agents[" \\t"] has an empty name'],
  [
    '{ "chains": {}, "agents": { ¶"a\\u001b": {} } }',
    'agents["a\\u001b"] has control characters in its name',
  ],
])('%s is refused', (marked, problem) => {
  expectProblem(marked, problem)
})

test.each([
  ['{ "chains": {} } x', '1:18  not a JSON value.'],
  ['{ "chains": {} } {}', '1:18  unexpected content after the end of the document.'],
  ['{ "chains" {} }', "1:12  expected ':'."],
  ['{ "chains": {} "agents": {} }', "1:16  expected ','."],
  ['{ "chains": {}', "1:15  missing '}'."],
  ['{ "chains": }', '1:13  expected a value.'],
  ['{ "chains": {"a": [1', "1:21  missing ']'."],
  ['{ "chains": "\\q" }', '1:13  unknown escape in a string.'],
  ['{ "chains": "\\u12" }', '1:13  invalid \\u escape.'],
  ['{ "chains": "a\tb" }', '1:13  control character in a string.'],
  ['{ "chains": "abc }', '1:13  string is not closed.'],
  ['{ "chains": {} } /* x', '1:18  comment is not closed.'],
  ["{ 'chains': {} }", '1:3  not a JSON value.'],
  ['// nothing', '1:11  expected a value.'],
])('the syntax of %s is refused', (text, problem) => {
  expect(problems(text)[0]).toBe(`chains.json:${problem}`)
})

test.each([['\n'], ['\r\n'], ['\r']])(
  'lines and columns are counted with %p as line end',
  (end) => {
    const text = ['{', '  "chains": {},', '\t"chain": 1', '}'].join(end)
    expect(problems(text)).toEqual(["chains.json:3:2  chain is unknown (did you mean 'chains'?)"])
  },
)

test('an empty file says what to do', () => {
  for (const text of ['', ' \n\t']) {
    expect(problems(text)).toEqual(['chains.json is empty.'])
  }
})

test('all mistakes are listed at once, from top to bottom', () => {
  const text = `{
  "agent": {},
  "agents": { "a": { "model": "sonett", "maxTurns": 0 } },
  "chains": {
    "one": { "steps": [] },
    "two": { "steps": [{ "agent": "x", "iterations": "3" }, { "prompts": "p" }] }
  }
}`
  expect(problems(text).map((line) => line.split(' is ')[0])).toEqual([
    'chains.json:2:3  agent',
    'chains.json:3:31  agents.a.model',
    'chains.json:3:53  agents.a.maxTurns',
    'chains.json:5:23  chains.one.steps',
    'chains.json:6:54  chains.two.steps[0].iterations',
    'chains.json:6:61  chains.two.steps[1].agent',
    'chains.json:6:63  chains.two.steps[1].prompts',
  ])
})

test('a duplicate key hides no other mistake, and none is reported twice', () => {
  const text = `{ "chains": {
  "a": { "steps": [] },
  "a": { "steps": "x" },
  "c": { "steps": [{ "agent": "x", "iterations": 0 }] }
} }`
  expect(problems(text).map((line) => line.split(/,| expected/)[0])).toEqual([
    'chains.json:3:3  chains.a is defined twice',
    'chains.json:4:50  chains.c.steps[0].iterations is 0',
  ])
})

test('a duplicate key hides no mistake under a key with the same prefix', () => {
  const text = '{ "chains": { "a": {}, "a": { "steps": [{ "agent": "x" }] }, "ab": {} } }'
  expect(problems(text).map((line) => line.split(',')[0])).toEqual([
    'chains.json:1:24  chains.a is defined twice',
    'chains.json:1:68  chains.ab.steps is missing',
  ])
})

test('a long value is shortened in the message', () => {
  const [problem] = problems(inStep(`"agent": "x", "iterations": "${'9'.repeat(500)}"`))
  expect(problem!.length).toBeLessThan(200)
  expect(problem).toContain('999…", expected')
})

test('deep nesting is a mistake of the user, not a crash', () => {
  expect(problems('['.repeat(100_000))).not.toEqual([])
})

const SIGNS = ['{', '}', '[', ']', ':', ',', '"', '\\', '\n', '//', '/*', '*/', '\uFEFF', '\0', ' ']
const WORDS = ['"chains"', '"agents"', '"steps"', '"agent"', '"__proto__"', '-', '1e999', 'null']

test('any text gives a configuration or a user error', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.json(),
    fc
      .array(fc.constantFrom(...SIGNS, ...WORDS), { maxLength: 40 })
      .map((pieces) => pieces.join('')),
    fc.json().map((value) => `{ "chains": { "a": ${value} } }`),
    fc.json().map((value) => inStep(`"agent": ${value}, "args": ${value}, "x": ${value}`)),
  )
  fc.assert(
    fc.property(text, (each) => {
      const found = problems(each)
      return found.every((line) => /^chains\.json(?:(:\d+:\d+)?  | is empty\.$)/.test(line))
    }),
    { numRuns: 2000 },
  )
})

test('a native agent accepts only the fields of its engine', () => {
  const own =
    '"engine": "native", "model": "compatible/x", "baseUrl": "http://h/v1", "apiKeyEnv": "K"'
  expect(problems(inAgent(`${own}, "tools": false, "maxOutputTokens": 9`))).toEqual([])
  expectProblem(
    inAgent('"engine": "native", "permissionMode": ¶"plan"'),
    'agents.fk:a.permissionMode is "plan", expected no value: not supported with "engine": "native"',
  )
  expectProblem(
    inAgent('"baseUrl": ¶"http://h/v1"'),
    'agents.fk:a.baseUrl is "http://h/v1", expected no value: only supported with "engine": "native"',
  )
  expectProblem(
    inAgent('"model": ¶"openai/tuned"'),
    'agents.fk:a.model is "openai/tuned", expected "sonnet", "opus", "haiku" or a full model id such as "claude-sonnet-5-5" (with "engine": "native" also provider/id such as "openai/gpt-6-sol")',
  )
  expectProblem(
    inAgent('"engine": ¶"codex"'),
    'agents.fk:a.engine is "codex", expected "claude" or "native"',
  )
  expectProblem(
    inAgent('"engine": "native", "apiKeyEnv": ¶"sk-ant-12-34"'),
    'agents.fk:a.apiKeyEnv is "sk-ant-12-34", expected the name of an environment variable, not the key itself',
  )
})
