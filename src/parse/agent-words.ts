/** Short names, and full ids, which have a number in them. */
export const MODEL = /^(sonnet|opus|haiku)$|\d/

/** The same for an agent that asks the model itself: it may say whose it is. */
export const NATIVE_MODEL = /^(sonnet|opus|haiku)$|\d|^[a-z-]+\/./

export const ENGINES = ['claude', 'native'] as const

export const MODEL_WORDS =
  '"sonnet", "opus", "haiku" or a full model id such as "claude-sonnet-5-5"'

export const MODEL_WORDS_BY_ENGINE = `${MODEL_WORDS} (with "engine": "native" also provider/id such as "openai/gpt-6-sol")`

export const PERMISSION_MODES = [
  'acceptEdits',
  'auto',
  'bypassPermissions',
  'default',
  'dontAsk',
  'plan',
] as const
