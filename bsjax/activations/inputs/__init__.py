"""What a network is shown: images, shifted images and clips, decoded and preprocessed in batches."""
