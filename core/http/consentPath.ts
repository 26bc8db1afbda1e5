export const consentPath = "/consent"
