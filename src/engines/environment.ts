import type { Environment } from '../base/environment.ts'

// Set by coding CLIs for their child processes. A CLI that finds them believes that it is nested, and
// refuses to start or joins the outer session. Credentials and provider switches
// (CLAUDE_CODE_OAUTH_TOKEN, CLAUDE_CODE_USE_BEDROCK, …) are passed on.
const NESTING = [
  'CLAUDECODE',
  'CLAUDE_CODE_ENTRYPOINT',
  'CLAUDE_CODE_CHILD_SESSION',
  'CLAUDE_CODE_SESSION_ID',
  'CLAUDE_CODE_SSE_PORT',
  'CLAUDE_ENV_FILE',
  'CLAUDE_PROJECT_DIR',
  'CODEX_THREAD_ID',
  'CODEX_SANDBOX',
  'GEMINI_CLI',
  'OPENCODE',
  'OPENCODE_PID',
  'CURSOR_AGENT',
]

// These change the behaviour of programs compiled with Bun, and an agent may be one.
const BUN = ['BUN_OPTIONS', 'BUN_BE_BUN']

/** The default of most shells. */
const DEFAULT_PATH = '/usr/local/bin:/usr/bin:/bin'

/** The base environment of all agents: the user's, without variables that mislead an agent. */
export function makeAgentEnvironment(
  outer: Environment,
  ownFolder: string | undefined,
): Record<string, string> {
  const env: Record<string, string> = {}
  for (const [name, value] of Object.entries(outer)) {
    if (value !== undefined && !NESTING.includes(name) && !BUN.includes(name)) env[name] = value
  }
  const path = [env['PATH'] || DEFAULT_PATH, ownFolder].filter((part) => part !== undefined)
  env['PATH'] = path.join(':')
  // Otherwise `claude --print` waits for a command that it moved to the background.
  env['CLAUDE_CODE_DISABLE_BACKGROUND_TASKS'] ??= '1'
  return env
}
