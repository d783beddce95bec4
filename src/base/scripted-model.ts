/** The variable with the address of a scripted model; `fake-model` sets it for the programs that it starts. */
export const SCRIPTED_MODEL = 'FORKHESTRA_FAKE_MODEL'

/** The header that identifies a native agent's conversation to a scripted model; real models do not get it. */
export const CONVERSATION_HEADER = 'x-forkhestra-conversation-id'
