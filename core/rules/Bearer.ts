/** RFC 6750 §2.1, `b64token`: what an Authorization header can carry. */
export const isBearerToken = (text: string): boolean => /^[A-Za-z0-9._~+/-]+=*$/.test(text)

const initialLength = 16

export const initialTokenExpected = `at least ${initialLength} characters of base64 or its like (A-Z a-z 0-9 - . _ ~ + /)`

/** RFC 7591 §3: what somebody chose for whoever registers to show, so nobody may guess it. */
export const isInitialToken = (text: string): boolean => text.length >= initialLength && isBearerToken(text)
