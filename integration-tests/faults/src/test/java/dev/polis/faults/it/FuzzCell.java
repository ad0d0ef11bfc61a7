package dev.polis.faults.it;

/** Names a kind of call: method, caller and content. */
record FuzzCell(FuzzMethod method, FuzzCredential credential, FuzzContent content) {}
