import { z } from 'zod'

// Descriptions are short, because every conversation reads every schema.

export const text = z.string().optional()
export const texts = z.array(z.string()).optional()
export const numbers = z.array(z.number()).optional()
export const flag = z.boolean().optional()
export const status = z.string().describe('todo, in-progress, blocked or done').optional()
export const priority = z.string().describe('high, medium, low or none').optional()
export const lease = z.string().describe('e.g. 2h').optional()
