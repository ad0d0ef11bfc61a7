package dev.polis.storage;

import com.google.protobuf.ByteString;
import dev.polis.api.storage.FilePlacement;
import dev.polis.api.storage.RecoveryShareStore;
import dev.polis.api.storage.StorageException;
import dev.polis.api.storage.StorageException.Problem;
import dev.polis.api.storage.UnlockKeys;
import dev.polis.logtree.Secret;
import dev.polis.wire.storage.RecoveryShare;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import org.bouncycastle.crypto.AsymmetricCipherKeyPair;
import org.bouncycastle.crypto.InvalidCipherTextException;
import org.bouncycastle.crypto.hpke.HPKE;
import org.bouncycastle.crypto.params.AsymmetricKeyParameter;
import org.bouncycastle.crypto.params.X25519PrivateKeyParameters;
import org.bouncycastle.crypto.params.X25519PublicKeyParameters;

/** The recovery share, by Bouncy Castle's HPKE; the JDK has none. */
final class RecoveryShareFile implements RecoveryShareStore {

  // RFC 9180 "info": a share cannot be passed off as something else that was sealed to the same
  // key.
  private static final byte[] INFO = "polis recovery share 1".getBytes(StandardCharsets.US_ASCII);
  private static final byte[] NO_AAD = new byte[0];

  private final FilePlacement file;

  RecoveryShareFile(FilePlacement file) {
    this.file = file;
  }

  @Override
  public boolean exists() throws StorageException {
    return file.exists();
  }

  @Override
  public void seal(Secret clusterUnlockKey, byte[] recoveryPublicKey) throws StorageException {
    UnlockKeys.validate("cluster unlock key", clusterUnlockKey);
    requireLength("recovery public key", recoveryPublicKey.length);
    byte[] plain = clusterUnlockKey.reveal();
    try {
      byte[][] sealed =
          hpke().seal(publicKey(recoveryPublicKey), INFO, NO_AAD, plain, null, null, null);
      file.write(
          RecoveryShare.newBuilder()
              .setCiphertext(ByteString.copyFrom(sealed[0]))
              .setEncapsulatedKey(ByteString.copyFrom(sealed[1]))
              .setRecoveryPublicKey(ByteString.copyFrom(recoveryPublicKey))
              .build());
    } catch (InvalidCipherTextException | IllegalArgumentException | IllegalStateException e) {
      throw new StorageException(
          Problem.BAD_KEY,
          "the recovery public key "
              + HexFormat.of().formatHex(recoveryPublicKey)
              + " cannot be used",
          "give the X25519 public key made by the owner; nothing was changed",
          e);
    } finally {
      Arrays.fill(plain, (byte) 0);
    }
  }

  @Override
  public Secret open(Secret recoveryPrivateKey) throws StorageException {
    requireLength("recovery private key", recoveryPrivateKey.length());
    RecoveryShare share = file.read(RecoveryShare.parser()).orThrow();
    byte[] raw = recoveryPrivateKey.reveal();
    try {
      X25519PrivateKeyParameters key = new X25519PrivateKeyParameters(raw);
      requireSealedTo(key, share.getRecoveryPublicKey().toByteArray());
      Secret opened =
          Secret.take(
              hpke()
                  .open(
                      share.getEncapsulatedKey().toByteArray(),
                      new AsymmetricCipherKeyPair(key.generatePublicKey(), key),
                      INFO,
                      NO_AAD,
                      share.getCiphertext().toByteArray(),
                      null,
                      null,
                      null));
      UnlockKeys.validate("cluster unlock key in " + file, opened);
      return opened;
    } catch (InvalidCipherTextException | IllegalArgumentException | IllegalStateException e) {
      throw new StorageException(
          Problem.CORRUPTED,
          file + " is corrupted: it was sealed to this recovery key, but does not open",
          "restore it from a copy; nothing was changed",
          e);
    } finally {
      Arrays.fill(raw, (byte) 0);
    }
  }

  private void requireSealedTo(X25519PrivateKeyParameters key, byte[] wanted)
      throws StorageException {
    byte[] given = key.generatePublicKey().getEncoded();
    if (!Arrays.equals(given, wanted)) {
      throw new StorageException(
          Problem.WRONG_KEY,
          "%s is sealed to the recovery key %s, the one given is %s"
              .formatted(file, HexFormat.of().formatHex(wanted), HexFormat.of().formatHex(given)),
          "give the private key of the former; nothing was changed");
    }
  }

  private static AsymmetricKeyParameter publicKey(byte[] raw) {
    return new X25519PublicKeyParameters(raw);
  }

  private static void requireLength(String name, int length) throws StorageException {
    if (length != KEY_LENGTH) {
      throw new StorageException(
          Problem.BAD_KEY,
          "the %s has %d bytes, wanted %d".formatted(name, length, KEY_LENGTH),
          "give a raw X25519 key; nothing was changed");
    }
  }

  private static HPKE hpke() {
    return new HPKE(
        HPKE.mode_base, HPKE.kem_X25519_SHA256, HPKE.kdf_HKDF_SHA256, HPKE.aead_AES_GCM256);
  }
}
