package dev.polis.storage;

import com.google.protobuf.ByteString;
import dev.polis.api.storage.MachineAttester;
import dev.polis.api.storage.StorageException;
import dev.polis.api.storage.StorageException.Refusal;
import dev.polis.base.digest.Sha256;
import dev.polis.files.FileException;
import dev.polis.pki.Ed25519;
import dev.polis.process.Commands;
import dev.polis.wire.cluster.AttestationEvidence;
import dev.polis.wire.cluster.GetAttestationChallengeResponse;
import dev.polis.wire.cluster.TpmKeys;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.PublicKey;
import java.util.HexFormat;

/**
 * Proves by the TPM what this machine has booted. The keys are made for one proof: the endorsement
 * key is the same each time, and the attestation key is used once.
 */
public final class AttesterTpm implements MachineAttester {

  // The firmware, its settings and what it starts; what the stub measures; the loader's own keys.
  private static final String SELECTION = "sha256:0,1,2,3,4,5,6,7,9,11,12,13,14";

  /** Where a maker stores the certificate of the RSA endorsement key (TCG's EK profile). */
  private static final String CERTIFICATE = "0x1c00002";

  // The largest log that the cluster takes; a virtual machine's has about 20 KiB.
  private static final int LOG_BYTES = 128 << 10;

  // What tpm2-tools writes in front of a credential: its mark and its version.
  private static final int CREDENTIAL = 0xbadcc0de;
  private static final int CREDENTIAL_VERSION = 1;

  private final String tcti;
  private final TpmTools tools;
  private final Path firmwareLog;

  /**
   * @param tcti the way to the TPM, in the notation of tpm2-tools; empty for none
   * @param firmwareLog the log of what the firmware has measured
   */
  public AttesterTpm(String tcti, Commands commands, Path firmwareLog) {
    this.tcti = tcti;
    this.tools = new TpmTools(tcti, commands);
    this.firmwareLog = firmwareLog;
  }

  @Override
  public boolean possible() {
    return !tcti.isEmpty();
  }

  @Override
  public <E extends Exception> AttestationEvidence attest(PublicKey node, Challenger<E> challenger)
      throws FileException, E {
    ByteString log = log();
    try (TpmTools.Scratch scratch = new TpmTools.Scratch()) {
      TpmKeys keys = keys(scratch);
      GetAttestationChallengeResponse challenge = challenger.ask(keys);
      AttestationEvidence.Builder evidence =
          AttestationEvidence.newBuilder()
              .setKeys(keys)
              .setNonce(challenge.getNonce())
              .setSecret(secret(scratch, challenge))
              .setEndorsementCertificate(certificate(scratch))
              .setEventLog(log);
      quote(scratch, node, evidence);
      return evidence.build();
    }
  }

  private ByteString log() throws FileException {
    try (InputStream log = Files.newInputStream(firmwareLog)) {
      // The kernel tells no size of it.
      byte[] bytes = log.readNBytes(LOG_BYTES + 1);
      if (bytes.length > LOG_BYTES) {
        throw new StorageException(
            Refusal.UNSUPPORTED,
            "the firmware's log at %s has more than %d bytes".formatted(firmwareLog, LOG_BYTES),
            "update the machine's firmware");
      }
      return ByteString.copyFrom(bytes);
    } catch (IOException e) {
      throw new StorageException(
          Refusal.UNSUPPORTED,
          "cannot read the firmware's log at %s: %s".formatted(firmwareLog, e.getMessage()),
          "boot the machine with UEFI, and mount securityfs",
          e);
    }
  }

  private TpmKeys keys(TpmTools.Scratch scratch) throws FileException {
    tools.must(
        "tpm2_createek",
        "--key-algorithm",
        "rsa",
        "--ek-context",
        scratch.file("ek"),
        "--public",
        scratch.file("ek-public"));
    tools.must(
        "tpm2_createak",
        "--ek-context",
        scratch.file("ek"),
        "--key-algorithm",
        "ecc",
        "--hash-algorithm",
        "sha256",
        "--signing-algorithm",
        "ecdsa",
        "--ak-context",
        scratch.file("ak"),
        "--public",
        scratch.file("ak-public"));
    return TpmKeys.newBuilder()
        .setEndorsement(read(scratch, "ek-public"))
        .setAttestation(read(scratch, "ak-public"))
        .build();
  }

  /** Lets the TPM reveal a secret, which it does only if it has both keys. */
  private ByteString secret(TpmTools.Scratch scratch, GetAttestationChallengeResponse challenge)
      throws FileException {
    byte[] head =
        ByteBuffer.allocate(2 * Integer.BYTES)
            .putInt(CREDENTIAL)
            .putInt(CREDENTIAL_VERSION)
            .array();
    scratch.write(
        "credential",
        ByteString.copyFrom(head)
            .concat(challenge.getCredential())
            .concat(challenge.getEncryptedSecret())
            .toByteArray());
    // The endorsement key serves the endorsement hierarchy's holder alone.
    String session = scratch.file("session");
    tools.must("tpm2_startauthsession", "--policy-session", "--session", session);
    tools.must("tpm2_policysecret", "--session", session, "--object-context", "endorsement");
    tools.must(
        "tpm2_activatecredential",
        "--credentialedkey-context",
        scratch.file("ak"),
        "--credentialkey-context",
        scratch.file("ek"),
        "--credentialkey-auth",
        "session:" + session,
        "--credential-blob",
        scratch.file("credential"),
        "--certinfo-data",
        scratch.file("secret"));
    tools.must("tpm2_flushcontext", session);
    return read(scratch, "secret");
  }

  /** Reads the certificate of the endorsement key; empty if the TPM has none. */
  private ByteString certificate(TpmTools.Scratch scratch) throws FileException {
    Commands.Result found =
        tools.run(
            tools.tool(
                "tpm2_nvread",
                "--hierarchy",
                "owner",
                "--output",
                scratch.file("certificate"),
                CERTIFICATE),
            new byte[0]);
    return found.ok() ? read(scratch, "certificate") : ByteString.EMPTY;
  }

  private void quote(TpmTools.Scratch scratch, PublicKey node, AttestationEvidence.Builder evidence)
      throws FileException {
    MessageDigest bound = Sha256.begin();
    bound.update(evidence.getNonce().toByteArray());
    tools.must(
        "tpm2_quote",
        "--key-context",
        scratch.file("ak"),
        "--pcr-list",
        SELECTION,
        "--qualification",
        HexFormat.of().formatHex(bound.digest(Ed25519.raw(node))),
        "--message",
        scratch.file("quote"),
        "--signature",
        scratch.file("signature"),
        "--format",
        "plain");
    tools.must("tpm2_pcrread", SELECTION, "--output", scratch.file("pcrs"));
    evidence
        .setQuote(read(scratch, "quote"))
        .setSignature(read(scratch, "signature"))
        .setPcrs(read(scratch, "pcrs"));
  }

  private static ByteString read(TpmTools.Scratch scratch, String name) throws FileException {
    return ByteString.copyFrom(scratch.read(name));
  }
}
