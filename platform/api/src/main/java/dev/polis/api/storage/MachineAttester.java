package dev.polis.api.storage;

import dev.polis.files.FileException;
import dev.polis.wire.cluster.AttestationEvidence;
import dev.polis.wire.cluster.GetAttestationChallengeResponse;
import dev.polis.wire.cluster.TpmKeys;
import java.security.PublicKey;
import org.osgi.annotation.versioning.ConsumerType;
import org.osgi.annotation.versioning.ProviderType;

/** Proves to a cluster what this machine has booted, by its TPM. */
@ProviderType
public interface MachineAttester {

  /**
   * Asks the cluster for a challenge.
   *
   * @param <E> what it throws if there is none
   */
  @ConsumerType
  @FunctionalInterface
  interface Challenger<E extends Exception> {
    GetAttestationChallengeResponse ask(TpmKeys keys) throws E;
  }

  /** Returns whether this machine has a TPM. */
  boolean possible();

  /**
   * Makes the keys, answers a challenge for them, and signs what was booted.
   *
   * @param node the key of the node, to which the signature is bound
   * @throws FileException if the TPM or the firmware's log does not serve
   */
  <E extends Exception> AttestationEvidence attest(PublicKey node, Challenger<E> challenger)
      throws FileException, E;
}
