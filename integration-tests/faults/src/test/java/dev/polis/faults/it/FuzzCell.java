package dev.polis.faults.it;

/** A kind of call: what is called, by whom, with what. */
record FuzzCell(FuzzMethod method, FuzzCredential credential, FuzzContent content) {}
