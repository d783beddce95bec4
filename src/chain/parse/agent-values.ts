/** Short names and full ids; full ids contain a digit. */
export const MODEL = /^(sonnet|opus|haiku)$|\d/

/** For native agents, which may also name the provider. */
export const NATIVE_MODEL = /^(sonnet|opus|haiku)$|\d|^[a-z-]+\/./

export const ENGINES = ['claude', 'native'] as const

export const MODEL_HINT = '"sonnet", "opus", "haiku" or a full model id such as "claude-sonnet-5-5"'

export const MODEL_HINT_BY_ENGINE = `${MODEL_HINT} (with "engine": "native" also provider/id such as "openai/gpt-6-sol")`

export const PERMISSION_MODES = [
  'acceptEdits',
  'auto',
  'bypassPermissions',
  'default',
  'dontAsk',
  'plan',
] as const
