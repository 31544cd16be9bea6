"""Recognition of occluded objects by people: Coggan & Tong (2024)."""
