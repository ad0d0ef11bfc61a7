/**
 * Implements the commands about the owner of a cluster: node parameters, keys, ownership, contexts.
 *
 * <pre>
 *   params generate ──▶ owner key, recovery key, node parameters ──▶ a machine boots with them
 *   take-ownership  ──▶ owner key ──▶ the cluster ──▶ OwnerCertificate ──▶ a context
 *   owner rotate    ──▶ OwnerKeyRotation ──▶ another owner key ──▶ the cluster ──▶ OwnerCertificate
 *   owner recover   ──▶ OwnerKeyRecovery ──▶ RecoveryKeyFile ──▶ proof ──▶ the cluster ──▶ as above
 *   operator add    ──▶ another person's public key ──▶ the cluster; operator take as take-ownership
 *   recovery-key    ──▶ RecoveryKeyFile ──▶ opens a volume that no other node can help with
 *   context         ──▶ which cluster the other commands mean
 * </pre>
 *
 * <p>Keys are written with mode 0600 and never over an existing file, except that a rotation puts
 * the new owner key in the place of the one that the cluster no longer accepts.
 *
 * <p>Not promised: another copy. A lost owner key cannot be made again, only replaced by another
 * one with the recovery key, and a lost recovery key replaces nothing.
 *
 * <p>Why not keep keys in a keyring: the machines that operate clusters have none that all of them
 * share.
 */
package dev.polis.ctl.owner;
