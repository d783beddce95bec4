/** Short names, and full ids, which have a number in them. */
export const MODEL = /^(sonnet|opus|haiku)$|\d/

export const MODEL_WORDS =
  '"sonnet", "opus", "haiku" or a full model id such as "claude-sonnet-5-5"'

export const PERMISSION_MODES = [
  'acceptEdits',
  'auto',
  'bypassPermissions',
  'default',
  'dontAsk',
  'plan',
] as const
