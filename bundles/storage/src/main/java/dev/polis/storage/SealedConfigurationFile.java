package dev.polis.storage;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import dev.polis.api.storage.RecoveryShareStore;
import dev.polis.api.storage.SealedConfiguration;
import dev.polis.api.storage.SealedConfigurationStore;
import dev.polis.api.storage.Sealer;
import dev.polis.api.storage.StorageSecurity;
import dev.polis.files.FileException;
import dev.polis.files.FileException.Problem;
import dev.polis.files.FilePlacement;
import dev.polis.files.Stored;
import dev.polis.logtree.Secret;
import dev.polis.pki.CaBundle;
import dev.polis.pki.Pem;
import dev.polis.pki.PkiException;
import dev.polis.pki.RecoveryKey;
import dev.polis.wire.storage.RecoveryShare;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/** Reads and writes the sealed configuration: the wire message in a {@link SealedFile}. */
final class SealedConfigurationFile implements SealedConfigurationStore {

  private final SealedFile file;
  private final RecoverySealedFile copy;
  private final RecoveryShareStore share;
  private final Settled settled;

  /** Refuses a boot that another one is going to follow, for which nothing would be sealed. */
  @FunctionalInterface
  interface Settled {
    void require() throws FileException;
  }

  /**
   * @param copy the place of a copy for the owner, of what is bound to this machine
   * @param share names the owner's recovery key
   * @param settled decides whether a recovery may seal for the present boot alone
   */
  SealedConfigurationFile(
      FilePlacement place,
      FilePlacement copy,
      RecoveryShareStore share,
      Sealer sealer,
      Settled settled) {
    this.settled = settled;
    this.file = new SealedFile("sealed-configuration", place, sealer);
    this.copy = new RecoverySealedFile(copy, RecoveryKey.Use.CONFIGURATION);
    this.share = share;
  }

  @Override
  public void write(SealedConfiguration configuration) throws FileException {
    boolean bind = file.binds() && !file.unbound();
    if (bind) {
      // The copy comes first: a machine that cannot unseal any more has nothing else.
      copy(configuration);
    }
    file.write(encode(configuration), bind);
  }

  @Override
  public void writeUnbound(SealedConfiguration configuration) throws FileException {
    file.write(encode(configuration), false);
  }

  /** Seals it again, if this machine has bound it. */
  void reseal() throws FileException {
    if (file.binds()
        && !file.unbound()
        && read() instanceof Stored.Present<SealedConfiguration>(var _, var present)) {
      file.write(encode(present), true);
    }
  }

  /** Seals the copy to the present recovery key, if this machine has bound the configuration. */
  void copyAgain() throws FileException {
    if (file.binds()
        && !file.unbound()
        && read() instanceof Stored.Present<SealedConfiguration>(var _, var present)) {
      copy(present);
    }
  }

  private void copy(SealedConfiguration configuration) throws FileException {
    if (share.read() instanceof Stored.Present<RecoveryShare>(var _, RecoveryShare known)) {
      copy.seal(encode(configuration), known.getRecoveryPublicKey().toByteArray());
    }
  }

  @Override
  public SealedConfiguration recover(Secret recoveryPrivateKey) throws FileException {
    byte[] plain = copy.open(recoveryPrivateKey);
    try {
      SealedConfiguration configuration = decode(plain);
      // What this boot unseals names the other boot, for which the write seals, too.
      if (!(read() instanceof Stored.Present<SealedConfiguration>)) {
        settled.require();
      }
      write(configuration);
      return configuration;
    } catch (IllegalArgumentException e) {
      throw new FileException(
          Problem.CORRUPTED, copy + ": " + e.getMessage(), "restore it from a copy", e);
    } finally {
      Arrays.fill(plain, (byte) 0);
    }
  }

  @Override
  public Stored<SealedConfiguration> read() {
    return file.read(SealedConfigurationFile::decode);
  }

  /** Checks the file without its sealer, which may be slow. */
  Stored<?> intact() {
    return file.envelope();
  }

  private static byte[] encode(SealedConfiguration configuration) {
    List<ByteString> cas =
        configuration.clusterCa().certificates().stream()
            .map(ca -> ByteString.copyFrom(Pem.der(ca)))
            .toList();
    return dev.polis.wire.sealed.SealedConfiguration.newBuilder()
        .setNodeUnlockKey(ByteString.copyFrom(configuration.nodeUnlockKey().reveal()))
        .setJoinKey(ByteString.copyFrom(configuration.joinKey().reveal()))
        .setClusterCa(cas.getFirst())
        .addAllOtherClusterCas(cas.subList(1, cas.size()))
        .setStorageSecurity(configuration.security().wire())
        .build()
        .toByteArray();
  }

  private static SealedConfiguration decode(byte[] plain) {
    try {
      var message = dev.polis.wire.sealed.SealedConfiguration.parseFrom(plain);
      return new SealedConfiguration(
          Secret.of(message.getNodeUnlockKey().toByteArray()),
          Secret.of(message.getJoinKey().toByteArray()),
          cas(message),
          StorageSecurity.of(message.getStorageSecurity())
              .orElseThrow(
                  () ->
                      new IllegalArgumentException(
                          "the storage security in it is unknown; a newer version may have written it")));
    } catch (InvalidProtocolBufferException e) {
      throw new IllegalArgumentException("the content is not a sealed configuration", e);
    } catch (PkiException e) {
      throw new IllegalArgumentException(
          "the CA of the cluster in it is not a certificate: " + e.getMessage(), e);
    }
  }

  private static CaBundle cas(dev.polis.wire.sealed.SealedConfiguration message) {
    return new CaBundle(
        Stream.concat(Stream.of(message.getClusterCa()), message.getOtherClusterCasList().stream())
            .map(der -> Pem.certificate(der.toByteArray()))
            .toList());
  }
}
