import { expect, test } from 'bun:test'
import { UserError } from '../../base/errors.ts'
import type { Facts } from './facts.ts'
import { makeLaunch } from './launch.ts'
import { makePlan } from './make-plan.ts'
import type { Request } from './request.ts'
import { builtInVariables, NO_STEPS, stepsOf, type StepNode } from './plan.ts'
import { DEFAULT_POLICY } from './policy.ts'

const FILES: Record<string, string> = { '/project/p.md': 'from a file', '/project/blank.md': '' }

const FACTS: Facts = {
  programAt: (path) => ({ kind: 'program', path }),
  programOnPath: (name) =>
    ['a', 'b', 'npm'].includes(name)
      ? { kind: 'program', path: `/bin/${name}` }
      : { kind: 'missing' },
  searchPath: ['/bin'],
  mustAsk: false,
  isOwnProgram: () => false,
  isInRepository: () => false,
  isBareRepository: () => false,
  hasVariable: () => false,
  fileExists: () => false,
  readPrompt(path, base) {
    const text = FILES[`${base}/${path}`]
    if (text === undefined) throw new UserError(`Prompt file not found: ${path}`, 'a hint')
    return text
  },
  agentFiles: () => ({ agents: new Map(), problems: [] }),
  namesIn: () => [],
  userAgentFiles: () => ({ agents: new Map(), problems: [] }),
}

const REQUEST: Request = {
  run: 'r1',
  cwd: '/project',
  chain: { steps: [{ agent: 'a' }] },
  agents: {},
  base: '/project',
  agentBase: '/project',
  variables: new Map(),
  args: [],
  cliPrompt: {},
}

const make = (request: Partial<Request>) => makePlan({ ...REQUEST, ...request }, FACTS)
const stepsFor = (request: Partial<Request>) => stepsOf(make(request).plan.root)

function refusal(request: Partial<Request>): UserError {
  try {
    make(request)
  } catch (error) {
    if (error instanceof UserError) return error
    throw error
  }
  throw new Error('was not refused')
}

const argvOf = (step: StepNode, iteration: number, options = {}) =>
  makeLaunch(
    step,
    builtInVariables({ run: 'r1', root: NO_STEPS }, step, iteration),
    FACTS.readPrompt,
    options,
  ).launch.argv

test('a plan is complete, plain and printable', () => {
  const chain = {
    steps: [
      { agent: 'a', iterations: 3 },
      { agent: './c', args: ['x'] },
    ],
  }
  const { plan, warnings } = make({ name: 'build', chain, args: ['--all'] })
  expect(plan).toEqual({
    run: 'r1',
    cwd: '/project',
    chain: 'build',
    root: {
      kind: 'sequence',
      id: 'root',
      of: [
        {
          kind: 'step',
          id: 's1',
          number: 1,
          agent: { engine: 'binary', name: 'a', program: '/bin/a' },
          cwd: '/project',
          loop: 3,
          args: [['--all']],
          prompt: [],
          policy: DEFAULT_POLICY,
        },
        {
          kind: 'step',
          id: 's2',
          number: 2,
          agent: { engine: 'binary', name: './c', program: '/project/c' },
          cwd: '/project',
          args: [['--all'], ['x']],
          prompt: [],
          policy: DEFAULT_POLICY,
        },
      ],
    },
    recoveries: [],
    budget: {},
    hooks: {},
  })
  expect(JSON.parse(JSON.stringify(plan))).toEqual(plan)
  expect(warnings).toEqual([])
})

test('arguments for all agents come before those of the step and are not filled in', () => {
  const chain = { steps: [{ agent: 'a', args: ['${V}', '$${V}'] }] }
  const variables = new Map([['V', 'a b ${W}']])
  const [step] = stepsFor({ chain, variables, args: ['${V}'], cliPrompt: { prompt: 'P ${V}' } })
  expect(argvOf(step!, 1)).toEqual(['/bin/a', '${V}', 'a b ${W}', '${V}', 'P ${V}'])
})

test('built-in variables are filled in every iteration and shown as written before', () => {
  const prompt = '${RUN_ID}: step ${STEP}, ${ITERATION}/${MAX_ITERATIONS}, copy ${COPY}/${COPIES}'
  const chain = {
    prompt,
    steps: [{ agent: 'b' }, { agent: 'a', iterations: 5, args: ['${STEP}'] }],
  }
  const [once, loop] = stepsFor({ chain })
  expect(argvOf(once!, 1)).toEqual(['/bin/b', 'r1: step 1, 1/1, copy 1/1'])
  expect(argvOf(loop!, 4)).toEqual(['/bin/a', '2', 'r1: step 2, 4/5, copy 1/1'])
  expect(argvOf(loop!, 1, { asWritten: true })).toEqual(['/bin/a', '${STEP}', prompt])
})

test.each<[string, Partial<Request>, string | undefined]>([
  ['the command line', { cliPrompt: { prompt: 'C', promptFile: 'p.md' } }, 'C'],
  ['a file of the command line', { cliPrompt: { promptFile: 'p.md' } }, 'from a file'],
  ['the step', {}, 'S'],
  ['the chain', { chain: { prompt: 'H', steps: [{ agent: 'a' }] } }, 'H'],
  ['the agent', { chain: { prompt: '', steps: [{ agent: 'a', promptFile: 'blank.md' }] } }, 'A'],
  ['no level', { chain: { steps: [{ agent: 'a' }] }, agents: {} }, undefined],
])('the prompt of %s wins', (_, request, prompt) => {
  const chain = { prompt: 'H', steps: [{ agent: 'a', prompt: 'S', promptFile: 'p.md' }] }
  const agents = { a: { defaultPrompt: 'A' } }
  const [step] = stepsFor({ chain, agents, ...request })
  expect(argvOf(step!, 1)[1]).toBe(prompt)
})

test('everything that is missing is listed at once', () => {
  const chain = {
    prompt: '${ALL}',
    steps: [
      { agent: 'gone' },
      { agent: 'a', args: ['${ONE}', '${TWO}'], prompt: 'p' },
      { agent: 'b', promptFile: 'gone.md' },
    ],
  }
  const { message, exitCode, problems } = refusal({ name: 'build', chain })
  expect(problems.map((problem) => problem.message)).toEqual([
    'Agent not found: gone',
    'Prompt file not found: gone.md',
    "Variable 'ALL' referenced in chain 'build' but not provided",
    "Variable 'ONE' referenced in 'a' but not provided",
    "Variable 'TWO' referenced in 'a' but not provided",
  ])
  expect(message).toContain('Prompt file not found: gone.md\n    a hint\n')
  expect(exitCode).toBe(2)
})

test('a single problem keeps its hint apart', () => {
  const { message, hint } = refusal({ chain: { steps: [{ agent: 'a', args: ['${V}'] }] } })
  expect(message).toBe("Variable 'V' referenced in 'a' but not provided")
  expect(hint).toBe('Add V=value to the command.')
})

test('a typed chain has no name in messages', () => {
  const chain = { prompt: '${V}', steps: [{ agent: 'a' }] }
  expect(refusal({ chain }).message).toBe("Variable 'V' referenced in the chain but not provided")
})

test('a prompt that is too long is refused before anything runs', () => {
  const { message } = refusal({ cliPrompt: { prompt: 'x'.repeat(100 * 1024 + 1) } })
  expect(message).toContain("The prompt for 'a' has 102401 bytes")
})

test('a variable that nothing references is a warning', () => {
  expect(make({ variables: new Map([['V', '1']]) }).warnings).toEqual([
    "Variable 'V' is set, but nothing references it.",
  ])
})

test.each(['test -n "${V}"', 'npm test -- $V'])(
  'a variable that only a command references must be in the environment: %s',
  (verify) => {
    const chain = { steps: [{ agent: 'a', verify }] }
    expect(make({ chain, variables: new Map([['V', '1']]) }).warnings).toEqual([
      "Variable 'V' is not filled in inside commands: the shell takes it from the environment. Put V=… before forkhestra.",
    ])
  },
)

test('without variables of the command line only the built-in ones are filled in', () => {
  const chain = { prompt: 'P ${V} ${STEP}', steps: [{ agent: 'a', args: ['$${STEP} ${V}'] }] }
  const [step] = stepsFor({ chain, variables: 'built-in only' })
  expect(argvOf(step!, 1)).toEqual(['/bin/a', '$1 ${V}', 'P ${V} 1'])
})

test('an empty prompt on the command line is a warning', () => {
  expect(make({ cliPrompt: { prompt: ' ' } }).warnings).toEqual([
    'The prompt on the command line is empty.',
  ])
})

test('a built-in variable cannot be set', () => {
  expect(refusal({ variables: new Map([['STEP', '1']]) }).message).toContain("'STEP' is set by")
})

test('a bug is not reported as a mistake of the user', () => {
  const facts: Facts = {
    ...FACTS,
    programOnPath() {
      throw new TypeError('a bug')
    },
  }
  expect(() => makePlan(REQUEST, facts)).toThrow(TypeError)
})

test('a grace of the request overrides the policy', () => {
  const grace = { markerMs: 1, termMs: 2 }
  expect(stepsFor({ grace })[0]!.policy.grace).toEqual(grace)
})
